"""The google-genai package, used as its documentation does."""

import io

from google import genai
from google.genai import errors, types

from lab import cities, expect, get_weather, key, model, poor_key, question, reply, url, weather_schema, wrong_key


def connect(api_key):
    return genai.Client(api_key=api_key, http_options=types.HttpOptions(base_url=url))


client = connect(key)
declaration = types.FunctionDeclaration(
    name="get_weather", description="The weather in a city", parameters_json_schema=weather_schema
)
tools = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declaration])])


def whole():
    response = client.models.generate_content(model=model, contents=question)
    expect(response.text, reply)
    expect(response.usage_metadata.total_token_count, 128)


def streamed():
    shown = io.StringIO()
    for chunk in client.models.generate_content_stream(model=model, contents=question):
        print(chunk.text, end="", file=shown)
    expect(shown.getvalue(), reply)


def chat():
    talk = client.chats.create(model=model)
    expect(talk.send_message(question).text, reply)
    shown = io.StringIO()
    for chunk in talk.send_message_stream("And tomorrow?"):
        print(chunk.text, end="", file=shown)
    expect(shown.getvalue(), reply)


def tool_calls():
    asked = client.models.generate_content(model=model, contents=question, config=tools)
    expect([call.args["city"] for call in asked.function_calls], cities)
    results = [
        types.Part.from_function_response(name=call.name, response={"result": get_weather(call.args["city"])})
        for call in asked.function_calls
    ]
    history = [
        types.UserContent(parts=[types.Part.from_text(text=question)]),
        asked.candidates[0].content,
        types.Content(role="tool", parts=results),
    ]
    expect(client.models.generate_content(model=model, contents=history, config=tools).text, reply)


def automatic_tool_calls():
    told = []

    def get_weather_here(city: str) -> str:
        """The weather in a city."""
        told.append(city)
        return get_weather(city)

    get_weather_here.__name__ = "get_weather"
    config = types.GenerateContentConfig(tools=[get_weather_here])
    response = client.models.generate_content(model=model, contents=question, config=config)
    expect(response.text, reply)
    expect(told, cities)


def counted():
    assert client.models.count_tokens(model=model, contents=question).total_tokens > 0


def models():
    names = [listed.name for listed in client.models.list(config={"page_size": 3})]
    assert f"models/{model}" in names, names
    expect(client.models.get(model=model).name, f"models/{model}")


def files():
    text = io.BytesIO(b"The secret word is heron.")
    made = client.files.upload(file=text, config={"mime_type": "text/plain", "display_name": "notes.txt"})
    expect((made.display_name, made.size_bytes), ("notes.txt", 25))
    assert made.name in [listed.name for listed in client.files.list()]
    client.files.delete(name=made.name)
    try:
        client.files.get(name=made.name)
    except errors.ClientError as error:
        assert error.code in (403, 404), error
    else:
        raise AssertionError("a deleted file was found")


def refusals():
    for given, code in ((wrong_key, 401), (poor_key, 402)):
        for ask in (
            lambda other: other.models.generate_content(model=model, contents=question),
            lambda other: next(other.models.generate_content_stream(model=model, contents=question)),
        ):
            try:
                ask(connect(given))
            except errors.ClientError as error:
                expect(error.code, code)
                assert error.message and error.status
            else:
                raise AssertionError(f"{code} was expected")


if __name__ == "__main__":
    whole()
    streamed()
    chat()
    tool_calls()
    automatic_tool_calls()
    counted()
    models()
    files()
    refusals()
