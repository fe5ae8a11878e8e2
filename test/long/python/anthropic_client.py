"""The anthropic package, used as its documentation does."""

import io

import anthropic
from anthropic import Anthropic

from lab import cities, expect, get_weather, key, model, poor_key, question, reply, url, weather_schema, wrong_key

client = Anthropic(api_key=key, base_url=url, max_retries=0)
messages = [{"role": "user", "content": question}]
tools = [{"name": "get_weather", "description": "The weather in a city", "input_schema": weather_schema}]


def whole():
    message = client.messages.create(max_tokens=1024, model=model, messages=messages)
    expect(message.content[0].text, reply)
    expect(message.stop_reason, "end_turn")
    expect(message.usage.output_tokens, 41)


def streamed():
    shown = io.StringIO()
    with client.messages.stream(max_tokens=1024, model=model, messages=messages) as stream:
        for text in stream.text_stream:
            print(text, end="", file=shown)
        expect(stream.get_final_message().content[0].text, reply)
    expect(shown.getvalue(), reply)


def events():
    stream = client.messages.create(max_tokens=1024, model=model, messages=messages, stream=True)
    kinds = [event.type for event in stream]
    expect([kinds[0], kinds[-1]], ["message_start", "message_stop"])


def tool_calls():
    asked = client.messages.create(max_tokens=1024, model=model, messages=messages, tools=tools)
    expect(asked.stop_reason, "tool_use")
    uses = [block for block in asked.content if block.type == "tool_use"]
    expect([use.input["city"] for use in uses], cities)
    results = [
        {"type": "tool_result", "tool_use_id": use.id, "content": get_weather(use.input["city"])} for use in uses
    ]
    history = [
        *messages,
        {"role": "assistant", "content": asked.content},
        {"role": "user", "content": results},
    ]
    told = client.messages.create(max_tokens=1024, model=model, messages=history, tools=tools)
    expect(told.content[0].text, reply)


def tool_calls_streamed():
    with client.messages.stream(max_tokens=1024, model=model, messages=messages, tools=tools) as stream:
        message = stream.get_final_message()
    expect([block.input["city"] for block in message.content if block.type == "tool_use"], cities)


def counted():
    assert client.messages.count_tokens(model=model, messages=messages).input_tokens > 0


def models():
    names = [listed.id for listed in client.models.list(limit=5)]
    assert model in names, names
    expect(client.models.retrieve(model).id, model)


def files():
    made = client.files.upload(file=("notes.txt", b"The secret word is heron.", "text/plain"))
    expect((made.filename, made.size_bytes), ("notes.txt", 25))
    assert made.id in [listed.id for listed in client.files.list()]
    client.files.delete(made.id)
    assert made.id not in [listed.id for listed in client.files.list()]
    try:
        client.files.retrieve_metadata(made.id)
    except anthropic.NotFoundError as error:
        expect(error.status_code, 404)
    else:
        raise AssertionError("a deleted file was found")


def errors():
    try:
        client.with_options(api_key=wrong_key).messages.create(max_tokens=9, model=model, messages=messages)
    except anthropic.AuthenticationError as error:
        expect(error.status_code, 401)
        expect(error.body["error"]["type"], "authentication_error")
        assert error.request_id
    else:
        raise AssertionError("a wrong key was taken")
    try:
        client.with_options(api_key=poor_key).messages.create(max_tokens=9, model=model, messages=messages)
    except anthropic.APIStatusError as error:
        expect(error.status_code, 402)
        expect(error.body["error"]["type"], "billing_error")
    else:
        raise AssertionError("an account without credits was served")


if __name__ == "__main__":
    whole()
    streamed()
    events()
    tool_calls()
    tool_calls_streamed()
    counted()
    models()
    files()
    errors()
