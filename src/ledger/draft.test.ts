import { expect, test } from 'bun:test'
import {
  type DraftFormat,
  draftFormats,
  generationColumns,
  generationTable,
} from '../platform/db/generation-table.ts'
import { decodeCheckpoint, decodeDraft, NewerFormatError } from './draft.ts'

/** Two formats, the second with one more column, in front. */
const formats: DraftFormat[] = [
  { generation: ['id', 'key_id', 'input_images'], target: ['model', 'pricing'] },
  { generation: ['session_id', 'id', 'key_id', 'input_images'], target: ['provider', 'model', 'pricing'] },
]

test.each([
  ['without a number', '[["gen-1",7,2],["a/b",null],10,0.05]', null],
  ['with the number of an earlier format', '[1,["gen-1",7,2],["a/b",null],10,0.05]', null],
  ['with the number of this format', '[2,["s",  "gen-1",7,2],["p","a/b",null],10,0.05]', 's'],
])('R7 a draft %s is decoded with the columns of its format', (_, text, session) => {
  const draft = decodeDraft(text, formats)
  expect(draft.generation).toMatchObject({ id: 'gen-1', key_id: 7, input_images: 2, session_id: session })
  expect(draft.initialTarget).toMatchObject({ model: 'a/b', pricing: null })
  expect([draft.promptTokens, draft.byokFee]).toEqual([10, 0.05])
})

const owner = ['gen-1', 'org', 'w', 7, null, '2026-11-15T10:00:00.000Z', 'a/b', 'chat', 1, null, 's-1']
const client = ['global', null, null, 'u-1', 'completions', 'curl', 'req-1']
const columns = draftFormats[0].generation
/** A draft with the requested service tier before the number of images. */
const early = [...owner, ...client, 'flex', 2]
const place = ['a/b', 'p', 'e', '', 0, { prompt: '0.1', completion: '0.2' }]
const first = Object.fromEntries(draftFormats[0].target.map((column, at) => [column, place[at]]))
const named = Object.fromEntries(columns.map((column, at) => [column, [...owner, ...client, 2][at]]))

test.each([
  ['an object', { generation: { ...named, service_tier: 'flex' }, first, promptTokens: 10, byokFee: 0.05 }],
  ['an object with a list', { first, promptTokens: 10, byokFee: 0.05, generation: early }],
  ['lists with the requested tier', [early, place, 10, 0.05]],
  ['lists', [[...owner, ...client, 2], place, 10, 0.05]],
])('R7 a draft of the first builds is decoded: %s', (_, encoded) => {
  const draft = decodeDraft(JSON.stringify(encoded))
  expect(draft.generation).toMatchObject({ ...named, service_tier: null, input_images: 2 })
  expect(draft.initialTarget).toMatchObject(first)
  expect([draft.promptTokens, draft.byokFee]).toEqual([10, 0.05])
})

/** Append a line for each format that a release writes. */
const released = [
  'id organization_id workspace_id key_id user_id created_at requested_model dialect streamed preset_id session_id region app_url app_title external_user api_type user_agent request_id input_images / model provider endpoint upstream_dialect is_byok pricing',
]

test('R7 released formats never change', () => {
  const formats = draftFormats.map(
    ({ generation, target }) => `${generation.join(' ')} / ${target.join(' ')}`,
  )
  expect(formats.slice(0, released.length)).toEqual(released)
})

test('R7 the format that is written has every column of a draft', () => {
  const columns = generationColumns.filter((column) => generationTable[column].part === 'draft')
  const written: readonly string[] = draftFormats.at(-1)?.generation ?? []
  expect(written.toSorted()).toEqual(columns.toSorted())
})

test('R7 a draft of a newer format is not decoded', () => {
  expect(() => decodeDraft('[3,["?"],["?"],1,1]', formats)).toThrow(NewerFormatError)
})

test('R9 a counter that a checkpoint does not have is zero', () => {
  const reply = { usage: { input: 3 }, complete: false, characters: 4, finished: false, failed: false }
  const checkpoint = decodeCheckpoint(JSON.stringify({ reply }))
  expect(checkpoint.reply.usage).toMatchObject({ input: 3, output: 0, cacheReadAudio: 0, webSearches: 0 })
})
