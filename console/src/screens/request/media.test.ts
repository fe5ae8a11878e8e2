import { expect, test } from 'bun:test'
import { findMedia } from './media.ts'

const image = 'data:image/png;base64,iVBORw0KGgo='

test.each([
  ['Chat Completions', [{ type: 'image_url', image_url: { url: image } }]],
  ['Responses', [{ type: 'input_image', image_url: image }]],
  [
    'Messages',
    [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }],
  ],
  ['Gemini', [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }]],
])('finds an image of %s', (_, content) => {
  expect(findMedia(content)).toEqual([{ kind: 'image', url: image, note: 'image/png' }])
})

test('finds a recording', () => {
  expect(findMedia([{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }])).toEqual([
    { kind: 'audio', url: 'data:audio/wav;base64,UklGRg==', note: 'audio/wav' },
  ])
})

test('says what is not stored', () => {
  const url = 'data:image/png;base64,[20000 characters of data]'
  expect(findMedia([{ type: 'image_url', image_url: { url } }])).toEqual([
    { kind: 'image', url: null, note: 'image/png, 20,000 characters, not stored' },
  ])
})

test('finds no addresses, no active types and no texts, and at most 16', () => {
  expect(findMedia('data:image/png;base64,AA==')).toEqual([])
  expect(findMedia([{ image_url: { url: 'https://example.com/a.png' } }])).toEqual([])
  expect(findMedia([{ image_url: { url: 'data:image/svg+xml;base64,AA==' } }])).toEqual([])
  expect(findMedia([{ image_url: { url: 'javascript:alert(1)' } }])).toEqual([])
  expect(findMedia(Array.from({ length: 40 }, () => ({ url: image })))).toHaveLength(16)
})
