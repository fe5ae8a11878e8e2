import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { OpenRouter } from '@openrouter/sdk'
import type { ChatResult, ChatStreamChunk } from '@openrouter/sdk/models'
import OpenAI from 'openai'
import { incoming, modelOf, scenarios, textDialects, useLab } from './lab.ts'

const lab = useLab()
const headers = { 'X-Service-Metadata': 'enabled' }
const messages = [{ role: 'user' as const, content: incoming }]

/** What the libraries keep of fields they do not know. */
function explained(answer: unknown) {
  return (answer as { service_metadata?: { attempt: number; requested: string } }).service_metadata
}

describe.each(textDialects)('answers that explain themselves, over an upstream of format %s', (dialect) => {
  const model = modelOf(dialect)

  test('the OpenAI library takes them, in chat and responses', async () => {
    const client = new OpenAI({ baseURL: `${lab().url}/v1`, apiKey: lab().key, maxRetries: 0 })
    const whole = await client.chat.completions.create({ model, messages }, { headers })
    expect(explained(whole)).toMatchObject({ attempt: 1, requested: model })
    const stream = client.chat.completions.stream({ model, messages }, { headers })
    expect(await stream.finalContent()).toBe(scenarios.text.text)
    const response = await client.responses.create({ model, input: incoming }, { headers })
    expect(explained(response)).toMatchObject({ attempt: 1 })
    const streamed = client.responses.stream({ model, input: incoming }, { headers })
    const final = await streamed.finalResponse()
    expect(final.output_text).toBe(scenarios.text.text)
    expect(explained(final)).toMatchObject({ attempt: 1 })
  })

  test('the Anthropic library takes them', async () => {
    const client = new Anthropic({ baseURL: lab().url, apiKey: lab().key, maxRetries: 0 })
    const body = { model, max_tokens: 100, messages }
    const whole = await client.messages.create(body, { headers })
    expect(explained(whole)).toMatchObject({ attempt: 1, requested: model })
    const stream = client.messages.stream(body, { headers })
    expect(await stream.finalText()).toBe(scenarios.text.text)
  })

  test('the OpenRouter library takes them', async () => {
    const client = new OpenRouter({ apiKey: lab().key, serverURL: `${lab().url}/api/v1` })
    const asking = { xOpenRouterMetadata: 'enabled' as const }
    const whole = (await client.chat.send({ ...asking, chatRequest: { model, messages } })) as ChatResult
    expect(whole.choices[0]?.message.content).toBe(scenarios.text.text)
    const stream = (await client.chat.send({
      ...asking,
      chatRequest: { model, messages, stream: true },
    })) as unknown as AsyncIterable<ChatStreamChunk>
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe(scenarios.text.text)
  })
})
