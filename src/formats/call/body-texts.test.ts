import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { embeddingsRequest } from '../embeddings/schema.ts'
import { imageRequest } from '../images/schema.ts'
import { moderationsRequest } from '../moderations/schema.ts'
import { describeBodyFields } from '../schema/body-fields.ts'
import { transcriptionRequest } from '../transcriptions/schema.ts'
import { type BodyFields, collectBodyTexts, replaceBodyTexts } from './body-texts.ts'
import { applyTextEdits, readJsonText } from './json-text.ts'

/** Replaces each `secret` and each of these numbers. */
function redact(body: JsonObject, fields: BodyFields): JsonObject {
  const texts = collectBodyTexts(body, fields).map(({ text }) => {
    const json = readJsonText(text)
    const edits = [...(json?.readable ?? text).matchAll(/secret|4111/g)].map(({ index, 0: match }) => ({
      start: index,
      end: index + match.length,
      label: '[X]',
    }))
    return json?.apply(edits) ?? applyTextEdits(text, edits)
  })
  return replaceBodyTexts(body, fields, texts)
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('the texts of a body', () => {
  const fields = describeBodyFields(embeddingsRequest.shape)

  test('a body without a match is the same object', () => {
    const body = { model: 'a/b', input: ['x', 'y'], user: 'u', extra: { deep: [1] } }
    expect(redact(body, fields)).toBe(body)
  })

  test('every text is changed, in lists, parts, values and names of fields that no schema knows', () => {
    const body = {
      model: 'secret/model',
      input: [
        { content: [{ type: 'text', text: 'a secret' }] },
        { content: [{ type: 'image_url', image_url: { url: 'https://example.org/secret.png' } }] },
        {
          content: [{ type: 'input_file', input_file: { data: base64('a secret'), format: 'text/plain' } }],
        },
      ],
      user: 'secret',
      input_type: 'secret',
      extra: { secret: [4111, 'secret'] },
      'a secret': 1,
    }
    expect(redact(body, fields)).toEqual({
      model: 'secret/model',
      input: [
        { content: [{ type: 'text', text: 'a [X]' }] },
        { content: [{ type: 'image_url', image_url: { url: 'https://example.org/[X].png' } }] },
        { content: [{ type: 'input_file', input_file: { data: base64('a [X]'), format: 'text/plain' } }] },
      ],
      user: '[X]',
      input_type: '[X]',
      extra: { '[X]': ['[X]', '[X]'] },
      'a [X]': 1,
    })
  })

  test('names of parts, media and tokens stay as they are', () => {
    const picture = `data:image/png;base64,${base64('secret')}`
    const body = {
      input: [{ type: 'image_url', image_url: { url: picture } }],
      provider: { order: ['secret'] },
    }
    expect(redact(body, describeBodyFields(moderationsRequest.shape))).toBe(body)
    const tokens = { input: [[4111], [4111]] }
    expect(redact(tokens, fields)).toBe(tokens)
  })

  test('a part with more than its schema knows is changed too', () => {
    const body = { input: [{ type: 'text', text: 'x', note: 'secret', secret: 4111 }] }
    expect(redact(body, describeBodyFields(moderationsRequest.shape))).toEqual({
      input: [{ type: 'text', text: 'x', note: '[X]', '[X]': '[X]' }],
    })
  })

  test('of the preferences only the options for providers', () => {
    const body = {
      prompt: 'x',
      size: '1024x1024',
      provider: { only: ['secret'], options: { p: { style: 'secret' } } },
    }
    expect(redact(body, describeBodyFields(imageRequest.shape))).toEqual({
      ...body,
      provider: { only: ['secret'], options: { p: { style: '[X]' } } },
    })
  })

  test('where a text is says which part of the request it is', () => {
    const body = { input: 'x', user: 'u', dimensions: 3, encoding_format: 'float' }
    const places = collectBodyTexts(body, fields).map(({ place }) => [place.part, place.role])
    expect(places).toEqual([
      ['text', 'user'],
      ['parameter', null],
    ])
  })

  test('fields with a fixed list of values have no text', () => {
    const { structural } = describeBodyFields(transcriptionRequest.shape)
    expect([...structural].sort()).toEqual([
      'include',
      'model',
      'models',
      'response_format',
      'session_id',
      'stream',
      'temperature',
      'timestamp_granularities',
      'trace',
    ])
  })
})
