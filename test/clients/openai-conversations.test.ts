import { describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { NotFoundError } from 'openai'
import { modelOf, prompt, rejection, scenarios, textWireFormats, useLab } from './lab.ts'
import { type ClientOptions, openaiClient } from './sdks.ts'

const lab = useLab()

const client = (options?: ClientOptions) => openaiClient(lab(), options)

describe.each(textWireFormats)(
  'conversations of the OpenAI SDK over an upstream of format %s',
  (wireFormat) => {
    const model = modelOf(wireFormat)

    test('a conversation is begun, used and listed', async () => {
      const { id } = await client().conversations.create()
      const first = await client().responses.create({ model, input: prompt, conversation: id })
      expect(first.conversation).toEqual({ id })
      const stream = client().responses.stream({ model, input: 'And tomorrow?', conversation: id })
      expect((await stream.finalResponse()).output_text).toBe(scenarios.text.text)
      expect(JSON.stringify(lab().lastRequest().json)).toContain(prompt)
      const texts: string[] = []
      for await (const item of client().conversations.items.list(id, { order: 'asc', limit: 1 }))
        if (item.type === 'message') texts.push(`${item.role}: ${JSON.stringify(item.content)}`)
      expect(texts).toHaveLength(4)
      expect(texts[0]).toContain(prompt)
      expect(texts[3]).toContain('assistant')
    })

    test('input tokens are counted', async () => {
      const counted = await client().responses.inputTokens.count({ model, input: prompt })
      expect(counted.object).toBe('response.input_tokens')
      expect(counted.input_tokens).toBeGreaterThan(0)
    })

    test('a conversation is compacted, and continues from there', async () => {
      const compacted = await client().responses.compact({
        model,
        input: [{ role: 'user', content: prompt }],
      })
      expect(compacted.object).toBe('response.compaction')
      expect(compacted.output.at(-1)?.type).toBe('compaction')
      const input = [
        ...compacted.output,
        { role: 'user', content: 'Go on.' },
      ] as OpenAI.Responses.ResponseInput
      const next = await client().responses.create({ model, input })
      expect(next.output_text).toBe(scenarios.text.text)
      expect(JSON.stringify(lab().lastRequest().json)).toContain('Summary of the conversation so far')
    })
  },
)

test('metadata and items are changed, read and deleted', async () => {
  const { conversations } = client()
  const made = await conversations.create({ metadata: { topic: 'snow' } })
  expect(made.metadata).toEqual({ topic: 'snow' })
  await conversations.update(made.id, { metadata: { topic: 'rain' } })
  expect((await conversations.retrieve(made.id)).metadata).toEqual({ topic: 'rain' })
  const added = await conversations.items.create(made.id, { items: [{ role: 'user', content: prompt }] })
  const itemId = added.data[0]?.id ?? ''
  const at = { conversation_id: made.id }
  expect(await conversations.items.retrieve(itemId, at)).toMatchObject({ id: itemId, role: 'user' })
  expect((await conversations.items.delete(itemId, at)).id).toBe(made.id)
  expect(await conversations.delete(made.id)).toEqual({
    id: made.id,
    object: 'conversation.deleted',
    deleted: true,
  })
  expect(await rejection(conversations.retrieve(made.id))).toBeInstanceOf(NotFoundError)
})

test('I9 another organization finds nothing, and no upstream is called', async () => {
  const { id } = await client().conversations.create()
  const requests = await lab().requestsDuring(async () => {
    const used = client({ key: lab().poorKey }).responses.create({
      model: modelOf('chat'),
      input: 'x',
      conversation: id,
    })
    expect(await rejection(used)).toBeInstanceOf(NotFoundError)
  })
  expect(requests).toEqual([])
})
