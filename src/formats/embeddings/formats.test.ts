import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { NumberList, parseWithNumberLists } from '../../platform/json/number-lists.ts'
import type { EmbeddingsCall } from '../call/embeddings.ts'
import { estimatePromptTokens } from '../call/size.ts'
import { zeroUsage } from '../call/usage.ts'
import { embeddingsWireFormats } from './all.ts'
import { decodeEmbeddings } from './decode.ts'

const target = { model: 'vendor-model', options: {} }
const decode = (body: JsonObject) => decodeEmbeddings({ model: 'a/b', ...body }).call

type Name = keyof typeof embeddingsWireFormats

function encode(name: Name, body: JsonObject, options = target) {
  const { path, body: sent, dropped } = embeddingsWireFormats[name].encodeRequest(decode(body), options)
  return { path, sent, dropped }
}

async function receive(name: Name, reply: object, call: EmbeddingsCall = decode({ input: 'a' })) {
  const body = (await parseWithNumberLists(JSON.stringify(reply), 1000)) as JsonObject
  return embeddingsWireFormats[name].decodeReply(body, call)
}

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }
const linkedImage = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
const text = { type: 'text', text: 'a cat' }
const vectors = [new NumberList('[0.5,-1]'), new NumberList('[1,2]')]

describe('the OpenAI format', () => {
  test('sends what the client sent', () => {
    const body = { input: ['a', 'b'], dimensions: 8, encoding_format: 'base64', input_type: 'x', user: 'u' }
    expect(encode('embeddings', { ...body, truncate: 'END' })).toEqual({
      path: '/embeddings',
      sent: { model: 'vendor-model', ...body, truncate: 'END' },
      dropped: [],
    })
    for (const input of ['a', [[1, 2]], [[1], [2]], [{ content: [text, image, linkedImage] }]])
      expect(encode('embeddings', { input }).sent).toMatchObject({ input })
  })

  test('one list of tokens is a list of inputs', () => {
    expect(encode('embeddings', { input: [1, 2] }).sent).toMatchObject({ input: [[1, 2]] })
  })

  test('text parts alone are a text', () => {
    expect(decode({ input: [{ content: [text, text] }] }).inputs).toEqual([
      { kind: 'text', text: 'a cat\na cat' },
    ])
  })

  test('audio, video and files make the round trip', () => {
    const content = [
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
      { type: 'input_video', input_video: { data: 'AAAA', format: 'mp4' } },
      { type: 'input_file', input_file: { data: 'AAAA', format: 'pdf' } },
    ]
    expect(encode('embeddings', { input: [{ content }] }).sent).toMatchObject({ input: [{ content }] })
    const urls = [{ type: 'input_video', input_video: { data: 'data:video/webm;base64,AAAA' } }]
    expect(encode('embeddings', { input: [{ content: urls }] }).sent).toMatchObject({
      input: [{ content: [{ type: 'input_video', input_video: { data: 'AAAA', format: 'webm' } }] }],
    })
  })

  test('reads vectors in the order of their indexes, and usage', async () => {
    const data = [
      { object: 'embedding', index: 1, embedding: [1, 2] },
      { object: 'embedding', index: 0, embedding: [0.5, -1] },
    ]
    const usage = { prompt_tokens: 7, total_tokens: 7 }
    expect(await receive('embeddings', { object: 'list', data, usage })).toEqual({
      vectors,
      usage: { ...zeroUsage, input: 7 },
      units: [],
    })
    expect(await receive('embeddings', { data: [{ embedding: 'AACAPw==' }] })).toEqual({
      vectors: ['AACAPw=='],
      usage: null,
      units: [],
    })
  })

  test('the completion tokens that some vendors count are not output', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
    expect((await receive('embeddings', { data: [], usage }))?.usage).toEqual({ ...zeroUsage, input: 7 })
  })

  test('tokens need no estimate', () => {
    const { prompt, size } = decodeEmbeddings({ model: 'a/b', input: [[1, 2], [3]] })
    expect(estimatePromptTokens(prompt)).toBe(3)
    expect(size.prompts).toBe(2)
  })

  test('anything else is not a reply', async () => {
    for (const reply of [{}, { data: {} }, { data: [{ index: 0 }] }, { data: [{ embedding: ['a'] }] }])
      expect(await receive('embeddings', reply)).toBeNull()
    const gaps = [
      { index: 5e8, embedding: [1] },
      { index: -1, embedding: [1] },
    ]
    expect(await receive('embeddings', { data: gaps })).toBeNull()
  })
})

describe('the Gemini format', () => {
  test('sends a request for each input', () => {
    const body = { input: ['a', 'b'], dimensions: 8, input_type: 'search_query', user: 'u' }
    const shared = { model: 'models/vendor-model', taskType: 'RETRIEVAL_QUERY', outputDimensionality: 8 }
    expect(encode('gemini-embeddings', body)).toEqual({
      path: '/models/vendor-model:batchEmbedContents',
      sent: {
        requests: ['a', 'b'].map((part) => ({ ...shared, content: { parts: [{ text: part }] } })),
      },
      dropped: ['user'],
    })
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }
    const media = encode('gemini-embeddings', { input: [{ content: [text, image, audio] }] })
    expect(media.sent).toMatchObject({
      requests: [
        {
          content: {
            parts: [
              { text: 'a cat' },
              { inlineData: { mimeType: 'image/png', data: 'iVBO' } },
              { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } },
            ],
          },
        },
      ],
    })
  })

  test('reads vectors, and usage by modality where it is reported', async () => {
    const embeddings = [{ values: [0.5, -1] }, { values: [1, 2] }]
    expect(await receive('gemini-embeddings', { embeddings })).toEqual({ vectors, usage: null, units: [] })
    const promptTokensDetails = [
      { modality: 'TEXT', tokenCount: 3 },
      { modality: 'IMAGE', tokenCount: 258 },
    ]
    const usageMetadata = { promptTokenCount: 261, promptTokensDetails }
    expect((await receive('gemini-embeddings', { embeddings, usageMetadata }))?.usage).toEqual({
      ...zeroUsage,
      input: 3,
      inputImage: 258,
    })
    for (const reply of [{}, { embeddings: [{}] }])
      expect(await receive('gemini-embeddings', reply)).toBeNull()
  })
})

describe('the Cohere format', () => {
  test('sends texts, or inputs with images', () => {
    expect(encode('cohere-embeddings', { input: 'a', dimensions: 256, encoding_format: 'base64' })).toEqual({
      path: '/embed',
      sent: {
        model: 'vendor-model',
        texts: ['a'],
        input_type: 'search_document',
        embedding_types: ['base64'],
        output_dimension: 256,
      },
      dropped: [],
    })
    const mixed = encode('cohere-embeddings', { input: [{ content: [text, image] }], input_type: 'query' })
    expect(mixed.sent).toMatchObject({
      inputs: [{ content: [text, image] }],
      input_type: 'search_query',
      embedding_types: ['float'],
    })
  })

  test('reads vectors of either encoding, and billed units', async () => {
    const meta = { billed_units: { input_tokens: 4, image_tokens: 90 } }
    const float = {
      embeddings: {
        float: [
          [0.5, -1],
          [1, 2],
        ],
      },
      meta,
      texts: ['[1, 2]'],
    }
    expect(await receive('cohere-embeddings', float)).toEqual({
      vectors,
      usage: { ...zeroUsage, input: 4, inputImage: 90 },
      units: [],
    })
    expect(await receive('cohere-embeddings', { embeddings: { base64: ['AACAPw=='] } })).toEqual({
      vectors: ['AACAPw=='],
      usage: null,
      units: [],
    })
    for (const reply of [{}, { embeddings: { int8: [[1]] } }, { embeddings: { float: [null] } }])
      expect(await receive('cohere-embeddings', reply)).toBeNull()
  })
})

describe('the Voyage format', () => {
  test('sends texts, and inputs with images to a path of their own', () => {
    const body = { input: ['a'], dimensions: 256, encoding_format: 'base64', input_type: 'search_document' }
    expect(encode('voyage-embeddings', body)).toEqual({
      path: '/embeddings',
      sent: {
        model: 'vendor-model',
        input: ['a'],
        input_type: 'document',
        output_dimension: 256,
        encoding_format: 'base64',
      },
      dropped: [],
    })
    const parts = { input: [{ content: [text, image, linkedImage] }], encoding_format: 'base64' }
    expect(encode('voyage-embeddings', parts)).toEqual({
      path: '/multimodalembeddings',
      sent: {
        model: 'vendor-model',
        inputs: [
          {
            content: [
              text,
              { type: 'image_base64', image_base64: 'data:image/png;base64,iVBO' },
              { type: 'image_url', image_url: 'https://example.com/a.png' },
            ],
          },
        ],
        output_encoding: 'base64',
      },
      dropped: [],
    })
    const multimodal = encode(
      'voyage-embeddings',
      { input: 'a' },
      { model: 'voyage-multimodal-3', options: {} },
    )
    expect(multimodal).toMatchObject({
      path: '/multimodalembeddings',
      sent: { inputs: [{ content: [{ type: 'text', text: 'a' }] }] },
    })
  })

  test('reads the total, its only count', async () => {
    const reply = { data: [{ index: 0, embedding: [0.5, -1] }], usage: { total_tokens: 9 } }
    expect((await receive('voyage-embeddings', reply))?.usage).toEqual({ ...zeroUsage, input: 9 })
  })
})

test('every format decodes errors', () => {
  const errors: [Name, unknown][] = [
    ['embeddings', { error: { message: 'Too long', type: 'invalid_request_error' } }],
    ['gemini-embeddings', { error: { code: 400, message: 'Too long', status: 'INVALID_ARGUMENT' } }],
    ['cohere-embeddings', { message: 'Too long' }],
    ['voyage-embeddings', { detail: 'Too long' }],
  ]
  for (const [name, body] of errors)
    expect(embeddingsWireFormats[name].decodeError(400, body)).toMatchObject({
      kind: 'invalid_request',
      message: 'Too long',
    })
})
