"""The openai package for everything besides text, with the models of the sandbox."""

import base64
import io
import math
import struct

import openai
from openai import OpenAI

from lab import expect, key, url

client = OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0)
said = "Hello big world. How are you?"


def size_of(png: bytes) -> tuple[int, int]:
    expect(png[:8], b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def rejection(ask) -> openai.APIStatusError:
    try:
        ask()
    except openai.APIStatusError as error:
        return error
    raise AssertionError("a wrong request was served")


def embeddings():
    texts = ["a red kite", "a red balloon", "tax law"]
    # Without an encoding, the package asks for base64 and decodes it.
    reply = client.embeddings.create(model="sandbox/embedder", input=texts, dimensions=256)
    expect([(item.index, len(item.embedding)) for item in reply.data], [(0, 256), (1, 256), (2, 256)])
    kite, balloon, law = [item.embedding for item in reply.data]
    assert dot(kite, balloon) > dot(kite, law), "similar texts are far apart"
    floats = client.embeddings.create(
        model="sandbox/embedder", input=texts[0], dimensions=256, encoding_format="float"
    )
    assert all(math.isclose(a, b, abs_tol=1e-6) for a, b in zip(floats.data[0].embedding, kite, strict=True))
    assert reply.usage.prompt_tokens > floats.usage.prompt_tokens > 0
    wrong = rejection(lambda: client.embeddings.create(model="sandbox/painter", input="a"))
    expect(wrong.status_code, 400)


def images():
    made = client.images.generate(model="sandbox/painter", prompt="A red kite", n=2, size="1024x1024")
    pictures = [base64.b64decode(image.b64_json) for image in made.data]
    expect([size_of(picture) for picture in pictures], [(1024, 1024), (1024, 1024)])
    expect(made.usage.input_tokens, 3)
    edited = client.images.edit(
        model="sandbox/painter",
        prompt="The same at night",
        image=("kite.png", pictures[0], "image/png"),
    )
    expect(size_of(base64.b64decode(edited.data[0].b64_json)), (1024, 1024))
    stream = client.images.generate(model="sandbox/painter", prompt="A red kite", stream=True, partial_images=2)
    expect(
        [event.type for event in stream],
        ["image_generation.partial_image"] * 2 + ["image_generation.completed"],
    )
    wrong = rejection(lambda: client.images.generate(model="sandbox/painter", prompt="A kite", size="7x7"))
    expect(wrong.status_code, 400)


def speech() -> bytes:
    options = {"model": "sandbox/speaker", "voice": "low", "input": said, "response_format": "wav"}
    whole = client.audio.speech.create(**options).content
    expect((whole[:4], whole[8:12]), (b"RIFF", b"WAVE"))
    streamed = io.BytesIO()
    with client.audio.speech.with_streaming_response.create(**options) as response:
        expect(response.headers["content-type"], "audio/wav")
        for chunk in response.iter_bytes():
            streamed.write(chunk)
    expect(len(streamed.getvalue()), len(whole))
    wrong = rejection(lambda: client.audio.speech.create(**{**options, "voice": "nobody"}))
    assert "low" in wrong.message, wrong.message
    return whole


def transcriptions(recording: bytes):
    def transcribe(**options):
        file = ("hello.wav", recording, "audio/wav")
        return client.audio.transcriptions.create(model="sandbox/listener", file=file, **options)

    expect(transcribe().text, said)
    verbose = transcribe(response_format="verbose_json", timestamp_granularities=["word", "segment"])
    expect([word.word for word in verbose.words][:2], ["Hello", "big"])
    assert verbose.duration > 0 and verbose.segments
    expect(transcribe(response_format="text").strip(), said)
    assert transcribe(response_format="srt").startswith("1\n00:00:00,")
    events = list(transcribe(stream=True))
    deltas = [event.delta for event in events if event.type == "transcript.text.delta"]
    expect("".join(deltas), said)
    expect((events[-1].type, events[-1].text), ("transcript.text.done", said))


def files():
    content = b"The secret word is heron."
    made = client.files.create(file=("notes.txt", content), purpose="user_data")
    expect(client.files.content(made.id).read(), content)
    assert client.files.delete(made.id).deleted
    expect(rejection(lambda: client.files.content(made.id)).status_code, 404)


def moderations():
    reply = client.moderations.create(model="sandbox/moderator", input=["Hello", "violence"])
    expect([result.flagged for result in reply.results], [False, True])
    assert reply.results[1].categories.violence
    assert reply.results[1].category_scores.violence > reply.results[0].category_scores.violence


if __name__ == "__main__":
    embeddings()
    images()
    transcriptions(speech())
    files()
    moderations()
