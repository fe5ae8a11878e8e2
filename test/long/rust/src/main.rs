//! async-openai, used as its documentation does, with settings that test/long/clients.test.ts passes.

use std::env;
use std::error::Error;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionMessageToolCalls, ChatCompletionRequestAssistantMessageArgs,
    ChatCompletionRequestMessage, ChatCompletionRequestToolMessageArgs,
    ChatCompletionRequestUserMessageArgs, ChatCompletionTool, ChatCompletionTools,
    CreateChatCompletionRequest, CreateChatCompletionRequestArgs, FunctionObjectArgs,
};
use async_openai::types::files::{CreateFileRequest, FileInput, FilePurpose};
use async_openai::types::responses::{CreateResponseArgs, ResponseStreamEvent};
use futures::StreamExt;
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn Error>>;

const QUESTION: &str = "What is the weather in Oslo and in Kyoto?";

fn told(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn connect(key: &str) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new()
        .with_api_key(key)
        .with_api_base(format!("{}/v1", told("HEADGATE_URL")));
    Client::with_config(config)
}

fn question() -> Result<ChatCompletionRequestMessage, OpenAIError> {
    Ok(ChatCompletionRequestUserMessageArgs::default()
        .content(QUESTION)
        .build()?
        .into())
}

fn request(
    messages: Vec<ChatCompletionRequestMessage>,
) -> Result<CreateChatCompletionRequest, OpenAIError> {
    CreateChatCompletionRequestArgs::default()
        .model(told("HEADGATE_MODEL"))
        .messages(messages)
        .build()
}

fn with_tools(
    messages: Vec<ChatCompletionRequestMessage>,
) -> Result<CreateChatCompletionRequest, OpenAIError> {
    let function = FunctionObjectArgs::default()
        .name("get_weather")
        .description("The weather in a city")
        .parameters(json!({
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        }))
        .build()?;
    let mut request = request(messages)?;
    request.tools = Some(vec![ChatCompletionTools::Function(ChatCompletionTool {
        function,
    })]);
    Ok(request)
}

async fn chat(client: &Client<OpenAIConfig>) -> Outcome {
    let response = client.chat().create(request(vec![question()?])?).await?;
    assert_eq!(
        response.choices[0].message.content,
        Some(told("HEADGATE_REPLY"))
    );
    assert_eq!(response.usage.map(|usage| usage.total_tokens), Some(128));
    Ok(())
}

async fn chat_streamed(client: &Client<OpenAIConfig>) -> Outcome {
    let mut stream = client
        .chat()
        .create_stream(request(vec![question()?])?)
        .await?;
    let mut text = String::new();
    while let Some(result) = stream.next().await {
        let response = result?;
        if let Some(content) = &response.choices[0].delta.content {
            text.push_str(content);
        }
    }
    assert_eq!(text, told("HEADGATE_REPLY"));
    Ok(())
}

async fn chat_tools(client: &Client<OpenAIConfig>) -> Outcome {
    let asked = client.chat().create(with_tools(vec![question()?])?).await?;
    let calls = asked.choices[0]
        .message
        .tool_calls
        .clone()
        .unwrap_or_default();
    let assistant = ChatCompletionRequestAssistantMessageArgs::default()
        .tool_calls(calls.clone())
        .build()?;
    let mut messages = vec![question()?, assistant.into()];
    let mut cities = Vec::new();
    for call in calls {
        let ChatCompletionMessageToolCalls::Function(call) = call else {
            return Err("a call of another kind".into());
        };
        let arguments: Value = serde_json::from_str(&call.function.arguments)?;
        let city = arguments["city"].as_str().unwrap_or_default().to_owned();
        let result = ChatCompletionRequestToolMessageArgs::default()
            .content(format!("It is snowing in {city}."))
            .tool_call_id(call.id)
            .build()?;
        messages.push(result.into());
        cities.push(city);
    }
    assert_eq!(cities, ["Oslo", "京都"]);
    let reply = client.chat().create(with_tools(messages)?).await?;
    assert_eq!(
        reply.choices[0].message.content,
        Some(told("HEADGATE_REPLY"))
    );
    Ok(())
}

async fn responses(client: &Client<OpenAIConfig>) -> Outcome {
    let request = CreateResponseArgs::default()
        .model(told("HEADGATE_MODEL"))
        .input(QUESTION)
        .build()?;
    let response = client.responses().create(request.clone()).await?;
    assert_eq!(response.output_text(), Some(told("HEADGATE_REPLY")));
    let mut stream = client.responses().create_stream(request).await?;
    let mut text = String::new();
    let mut is_complete = false;
    while let Some(result) = stream.next().await {
        match result? {
            ResponseStreamEvent::ResponseOutputTextDelta(delta) => text.push_str(&delta.delta),
            ResponseStreamEvent::ResponseCompleted(_) => is_complete = true,
            _ => {}
        }
    }
    assert_eq!(text, told("HEADGATE_REPLY"));
    assert!(is_complete);
    Ok(())
}

async fn models(client: &Client<OpenAIConfig>) -> Outcome {
    let list = client.models().list().await?;
    assert!(
        list.data
            .iter()
            .any(|model| model.id == told("HEADGATE_MODEL"))
    );
    let model = client.models().retrieve(&told("HEADGATE_MODEL")).await?;
    assert_eq!(model.id, told("HEADGATE_MODEL"));
    Ok(())
}

async fn files(client: &Client<OpenAIConfig>) -> Outcome {
    let made = client
        .files()
        .create(CreateFileRequest {
            file: FileInput::from_vec_u8("notes.txt".into(), b"The secret word is heron.".to_vec()),
            purpose: FilePurpose::UserData,
            ..Default::default()
        })
        .await?;
    assert_eq!(
        (made.filename.as_str(), made.bytes),
        ("notes.txt", Some(25))
    );
    assert!(
        client
            .files()
            .list()
            .await?
            .data
            .iter()
            .any(|file| file.id == made.id)
    );
    assert!(client.files().delete(&made.id).await?.deleted);
    assert!(
        !client
            .files()
            .list()
            .await?
            .data
            .iter()
            .any(|file| file.id == made.id)
    );
    Ok(())
}

async fn refusals() -> Outcome {
    for (key, status) in [
        ("sk-hg-v1-wrong".into(), 401),
        (told("HEADGATE_POOR_KEY"), 402),
    ] {
        let client = connect(&key);
        expect_status(
            client
                .chat()
                .create(request(vec![question()?])?)
                .await
                .err(),
            status,
        );
        let begun = client
            .chat()
            .create_stream(request(vec![question()?])?)
            .await;
        let error = match begun {
            Ok(mut stream) => stream.next().await.and_then(Result::err),
            Err(error) => Some(error),
        };
        expect_status(error, status);
    }
    Ok(())
}

/// The crate accepts only strings as `error.code`; with a number it returns the body instead.
fn expect_status(error: Option<OpenAIError>, status: u16) {
    let Some(OpenAIError::JSONDeserialize(_, content)) = error else {
        panic!("not an error of the API: {error:?}");
    };
    let body: Value = serde_json::from_str(&content).expect("an error is JSON");
    assert_eq!(body["error"]["code"], status);
    assert!(body["error"]["message"].is_string());
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let client = connect(&told("HEADGATE_KEY"));
    chat(&client).await?;
    chat_streamed(&client).await?;
    chat_tools(&client).await?;
    responses(&client).await?;
    models(&client).await?;
    files(&client).await?;
    refusals().await
}
