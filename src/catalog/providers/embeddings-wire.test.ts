import { expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import {
  cohereNative,
  floatOnly,
  jinaEmbeddings,
  mistralEmbeddings,
  nvidiaEmbeddings,
} from './embeddings-wire.ts'

const request = (body: JsonObject) => ({ model: 'm', stream: false, path: '/embeddings', headers: {}, body })
const body = { model: 'm', input: 'a', encoding_format: 'base64', dimensions: 8, input_type: 'search_query' }

test('the names that vendors give to the fields of embeddings', () => {
  expect(floatOnly.adaptRequest(request(body)).body).toEqual({
    model: 'm',
    input: 'a',
    dimensions: 8,
    input_type: 'search_query',
  })
  expect(mistralEmbeddings.adaptRequest(request({ model: 'm', input: 'a', dimensions: 8 })).body).toEqual({
    model: 'm',
    input: 'a',
    output_dimension: 8,
  })
  expect(nvidiaEmbeddings.adaptRequest(request(body)).body).toMatchObject({ input_type: 'query' })
  expect(nvidiaEmbeddings.adaptRequest(request({ input_type: 'document' })).body).toEqual({
    input_type: 'passage',
  })
  expect(jinaEmbeddings.adaptRequest(request(body)).body).toEqual({
    model: 'm',
    input: 'a',
    dimensions: 8,
    embedding_type: 'base64',
    task: 'retrieval.query',
  })
})

test('an API next to the compatible one', () => {
  const { path } = cohereNative.adaptRequest({ ...request({}), path: '/embed' })
  expect(new URL(`https://api.example.com/compatibility/v1${path}`).href).toBe(
    'https://api.example.com/v2/embed',
  )
})
