"""What is asked, on a screen where other things are printed meanwhile."""

from openclaw.control.shown_step import ShownStep


def test_what_is_asked_is_shown_again_below_whole_lines_and_not_when_it_is_answered() -> None:
    shown: list[str] = []
    step = ShownStep(shown.append)
    for text in ("half", " a line\n"):
        step.make_room()
        shown.append(text)
        step.printed(ends_a_line=text.endswith("\n"))
        step.again()
    assert shown == ["half", " a line\n"]
    step.ask("Go on? ")
    step.again()
    step.make_room()
    shown.append("half")
    assert not step.printed(ends_a_line=False)
    step.again()
    assert shown[2:] == ["Go on? ", "\n", "half"]
    step.make_room()
    shown.append(" a line\n")
    assert step.printed(ends_a_line=True)
    step.again()
    assert shown[5:] == [" a line\n", "Go on? "]
    step.end()
    step.make_room()
    assert not step.printed(ends_a_line=True)
    step.again()
    assert shown[7:] == []
