import { describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAIEmbeddings } from '@langchain/openai'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { cosineSimilarity, embed, embedMany } from 'ai'
import { rejection, useLab } from './lab.ts'
import { openaiClient, openRouterClient } from './sdks.ts'

globalThis.AI_SDK_LOG_WARNINGS = false

const lab = useLab()
const model = 'sandbox/embedder'
const input = ['The cat sat on the mat', 'A cat sits on a mat', 'Quarterly revenue grew']

describe('embeddings of the OpenAI SDK', () => {
  const create = (more: object = {}) => openaiClient(lab()).embeddings.create({ model, input, ...more })

  test('its default, base64, has the numbers of float', async () => {
    const [byDefault, float] = await Promise.all([create(), create({ encoding_format: 'float' })])
    expect(byDefault.data).toHaveLength(3)
    expect(byDefault.data.map(({ embedding }) => [...embedding])).toEqual(
      float.data.map(({ embedding }) => embedding),
    )
    expect(float.data[0]?.embedding).toHaveLength(1536)
    expect(float.usage).toMatchObject({ prompt_tokens: 17, total_tokens: 17 })
    expect(float._request_id).toBeString()
  })

  test('base64 is left as it is for a client that requests it', async () => {
    const { data } = await create({ encoding_format: 'base64', dimensions: 8 })
    expect(Buffer.from(data[0]?.embedding as unknown as string, 'base64')).toHaveLength(32)
  })

  test('tokens are inputs', async () => {
    const { data, usage } = await create({ input: [[1, 2], [3]] })
    expect(data).toHaveLength(2)
    expect(usage.prompt_tokens).toBe(3)
  })

  test('an error has status, code and param', async () => {
    const error = await rejection(create({ dimensions: -1 }))
    expect(error).toMatchObject({ status: 400, param: 'dimensions' })
  })
})

test('moderations of the OpenAI SDK', async () => {
  const { results } = await openaiClient(lab()).moderations.create({
    model: 'sandbox/moderator',
    input: ['Hello', 'A film with violence'],
  })
  expect(results.map(({ flagged }) => flagged)).toEqual([false, true])
  expect(results[1]?.categories.violence).toBe(true)
})

describe('embeddings of the AI SDK', () => {
  const access = () => ({ baseURL: `${lab().url}/v1`, apiKey: lab().key })
  const models = {
    '@ai-sdk/openai': () => createOpenAI(access()).embedding(model),
    '@ai-sdk/openai-compatible': () =>
      createOpenAICompatible({ name: 'headgate', ...access() }).embeddingModel(model),
    '@openrouter/ai-sdk-provider': () => createOpenRouter(access()).textEmbeddingModel(model),
  }

  test.each(Object.keys(models) as (keyof typeof models)[])('%s', async (name) => {
    const one = await embed({ model: models[name](), value: 'Hello' })
    expect(one.embedding).toHaveLength(1536)
    expect(one.usage.tokens).toBe(2)
    const many = await embedMany({ model: models[name](), values: input })
    const [first, second, third] = many.embeddings
    expect(cosineSimilarity(first ?? [], second ?? [])).toBeGreaterThan(
      cosineSimilarity(first ?? [], third ?? []),
    )
  })
})

test('embeddings of LangChain', async () => {
  const embeddings = new OpenAIEmbeddings({
    model,
    apiKey: lab().key,
    configuration: { baseURL: `${lab().url}/v1` },
  })
  expect(await embeddings.embedDocuments(input)).toHaveLength(3)
  expect(await embeddings.embedQuery('cat')).toHaveLength(1536)
})

describe('the OpenRouter SDK, which validates every response', () => {
  test('embeddings.generate()', async () => {
    const client = openRouterClient(lab())
    const reply = await client.embeddings.generate({
      requestBody: { model, input, inputType: 'search_query' },
    })
    if (typeof reply === 'string') throw new Error('a stream')
    expect(reply.data[0]?.embedding).toHaveLength(1536)
    expect(reply.usage).toMatchObject({ promptTokens: 17, totalTokens: 17 })
    expect(reply.usage?.cost).toBeGreaterThan(0)
    const image = { type: 'image_url' as const, imageUrl: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
    const mixed = await client.embeddings.generate({
      requestBody: {
        model,
        encodingFormat: 'base64',
        input: [{ content: [{ type: 'text', text: 'A cat' }, image] }],
      },
    })
    if (typeof mixed === 'string') throw new Error('a stream')
    expect(mixed.data[0]?.embedding).toBeString()
    expect(mixed.usage?.promptTokensDetails).toMatchObject({ textTokens: 2, imageTokens: 256 })
  })

  test('embeddings.listModels() lists what can be used', async () => {
    const { data } = (await openRouterClient(lab()).embeddings.listModels()).result
    expect(data.map(({ id }) => id)).toContain(model)
  })

  test('rerank.rerank()', async () => {
    const reply = await openRouterClient(lab()).rerank.rerank({
      requestBody: { model: 'sandbox/reranker', query: 'cat on a mat', documents: input, topN: 2 },
    })
    if (typeof reply === 'string') throw new Error('a stream')
    expect(reply.results).toHaveLength(2)
    expect(reply.results[0]?.document.text).toBe('A cat sits on a mat')
    expect(reply.usage).toMatchObject({ searchUnits: 1, cost: 0.002 })
    expect(reply.provider).toBe('Sandbox (simulated)')
  })
})
