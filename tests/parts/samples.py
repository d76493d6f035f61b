"""The first bytes of real files of each type that orders may carry; of pictures, all that says what they are. Standard library only."""

import zlib

_PIXEL = zlib.compress(b"\0\xff\0\0")

SAMPLES: dict[str, bytes] = {
    "image/png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde"
    + len(_PIXEL).to_bytes(4)
    + b"IDAT"
    + _PIXEL
    + zlib.crc32(b"IDAT" + _PIXEL).to_bytes(4)
    + b"\0\0\0\0IEND\xaeB`\x82",
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xc0\0\x0b\x08\0\1\0\1\1\1\x11\0\xff\xd9",
    "image/gif": b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;",
    "image/webp": b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0/\0\0\0\x10\7\x10\x11\x11\x88\x88\xfe\7\0",
    "application/pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3",
    "text/plain": b"hello",
    "text/markdown": b"# Title",
    "text/html": b"<!doctype html><p>x",
    "text/csv": b"a,b\n1,2\n",
    "application/json": b'{"a": 1}',
    "audio/mpeg": b"ID3\x04\0\0\0\0\0#",
    "audio/wav": b"RIFF$\0\0\0WAVEfmt ",
    "audio/ogg": b"OggS\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\x1e\1vorbis",
    "audio/mp4": b"\0\0\0 ftypM4A \0\0\2\0",
    "audio/aac": b"\xff\xf1P\x80\2\x1f\xfc",
    "audio/flac": b'fLaC\0\0\0"',
    "audio/opus": b"OggS\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\x13OpusHead",
    "video/mp4": b"\0\0\0 ftypisom\0\0\2\0",
    "video/webm": b"\x1aE\xdf\xa3\x9fB\x86\x81\1B\xf7\x81\1B\xf2\x81\4B\xf3\x81\x08B\x82\x84webm",
    "video/quicktime": b"\0\0\0\x14ftypqt  \0\0\2\0",
    "video/x-msvideo": b"RIFF$\0\0\0AVI LIST",
    "application/zip": b"PK\3\4\x14\0",
    "application/gzip": b"\x1f\x8b\x08\0",
    "application/x-tar": b"name".ljust(257, b"\0") + b"ustar\x0000",
    "application/x-compressed-tar": b"\x1f\x8b\x08\0",
}
