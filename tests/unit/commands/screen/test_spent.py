"""What a turn took, in one line."""

from openclaw.commands.screen.spent import spent_line
from openclaw.content import Usage
from openclaw.models.spec import Prices

PRICES = {"local/dear": Prices(3.0, 15.0, 0.3), "local/cheap": Prices(0.1, 0.2)}


def test_tokens_share_of_the_window_cost_and_time() -> None:
    messages = [("local/dear", Usage(10_000, 500, 8_000)), ("local/dear", Usage(12_000, 500, 10_000))]
    assert spent_line(messages, 200_000, 4.21, PRICES.get) == (
        "22,000 tokens in, 1,000 out (18,000 cached) · 6% of 200,000 · $0.0324 · 4.2 s"
    )


def test_of_what_costs_at_all_it_is_never_said_that_it_costs_nothing() -> None:
    messages = [("local/cheap", Usage(100, 10))]
    assert spent_line(messages, 0, 1.0, PRICES.get) == "100 tokens in, 10 out · under $0.0001 · 1.0 s"


def test_a_model_without_prices_leaves_the_cost_out() -> None:
    messages = [("local/cheap", Usage(100, 10)), ("local/unknown", Usage(100, 10))]
    assert spent_line(messages, 200_000, 1.0, PRICES.get) == "200 tokens in, 20 out · under 1% of 200,000 · 1.0 s"


def test_nothing_is_said_of_a_model_that_counts_nothing() -> None:
    assert spent_line([("builtin/offline", Usage())], 1_000_000, 0.1, PRICES.get) == ""
