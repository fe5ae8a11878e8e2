import { expect, test } from 'bun:test'
import { previewOf, toStoredFile } from './stored-file.ts'

test.each([
  ['image/png', 'image'],
  ['image/svg+xml', null],
  ['text/html', 'text'],
  ['text/plain', 'text'],
  ['audio/ogg', 'audio'],
  ['application/pdf', null],
  ['application/xhtml+xml', null],
] as const)('a file of the type %s is shown as %p', (type, kind) => {
  expect(previewOf({ type, bytes: 10 })).toBe(kind)
})

test('large pictures and recordings are downloaded, texts are shown in part', () => {
  expect(previewOf({ type: 'image/png', bytes: 30_000_000 })).toBeNull()
  expect(previewOf({ type: 'text/csv', bytes: 30_000_000 })).toBe('text')
})

test('both forms of a time are read', () => {
  const file = {
    id: 'f',
    type: 'file' as const,
    object: 'file' as const,
    filename: 'a.txt',
    mime_type: 'text/plain',
    size_bytes: 1,
    bytes: 1,
    purpose: 'user_data' as const,
    status: 'processed' as const,
    downloadable: true,
  }
  const time = '2026-01-02T00:00:00.000Z'
  const seconds = Date.parse(time) / 1000
  expect(toStoredFile({ ...file, _shape: 'vendor_b', created_at: seconds }).createdAt).toBe(time)
  expect(toStoredFile({ ...file, _shape: 'service', created_at: time }).createdAt).toBe(time)
})
