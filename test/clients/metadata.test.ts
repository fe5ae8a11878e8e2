import { describe, expect, test } from 'bun:test'
import type { ChatResult, ChatStreamChunk } from '@openrouter/sdk/models'
import { messages, modelOf, prompt, scenarios, textWireFormats, useLab } from './lab.ts'
import { anthropicClient, openaiClient, openRouterClient } from './sdks.ts'

const lab = useLab()
const headers = { 'X-Service-Metadata': 'enabled' }

/** Libraries leave unknown fields in place. */
function metadataOf(reply: unknown) {
  return (reply as { service_metadata?: { attempt: number; requested: string } }).service_metadata
}

describe.each(textWireFormats)('routing metadata in replies, over an upstream of format %s', (wireFormat) => {
  const model = modelOf(wireFormat)

  test('the OpenAI library accepts it, in chat and responses', async () => {
    const client = openaiClient(lab())
    const whole = await client.chat.completions.create({ model, messages }, { headers })
    expect(metadataOf(whole)).toMatchObject({ attempt: 1, requested: model })
    const stream = client.chat.completions.stream({ model, messages }, { headers })
    expect(await stream.finalContent()).toBe(scenarios.text.text)
    const response = await client.responses.create({ model, input: prompt }, { headers })
    expect(metadataOf(response)).toMatchObject({ attempt: 1 })
    const streamed = client.responses.stream({ model, input: prompt }, { headers })
    const final = await streamed.finalResponse()
    expect(final.output_text).toBe(scenarios.text.text)
    expect(metadataOf(final)).toMatchObject({ attempt: 1 })
  })

  test('the Anthropic library accepts it', async () => {
    const client = anthropicClient(lab())
    const body = { model, max_tokens: 100, messages }
    const whole = await client.messages.create(body, { headers })
    expect(metadataOf(whole)).toMatchObject({ attempt: 1, requested: model })
    const stream = client.messages.stream(body, { headers })
    expect(await stream.finalText()).toBe(scenarios.text.text)
  })

  test('the OpenRouter library accepts it', async () => {
    const client = openRouterClient(lab())
    const option = { xOpenRouterMetadata: 'enabled' as const }
    const whole = (await client.chat.send({ ...option, chatRequest: { model, messages } })) as ChatResult
    expect(whole.choices[0]?.message.content).toBe(scenarios.text.text)
    const stream = (await client.chat.send({
      ...option,
      chatRequest: { model, messages, stream: true },
    })) as unknown as AsyncIterable<ChatStreamChunk>
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe(scenarios.text.text)
  })
})
