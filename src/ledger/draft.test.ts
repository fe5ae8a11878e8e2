import { expect, test } from 'bun:test'
import { type DraftFormat, draftFormats, generationColumns, generationTable } from '../db/generation-table.ts'
import { decodeCheckpoint, decodeDraft, NewerFormatError } from './draft.ts'

/** Two forms of which the second has a column more, in front. */
const forms: DraftFormat[] = [
  { generation: ['id', 'key_id', 'input_images'], target: ['model', 'pricing'] },
  { generation: ['session_id', 'id', 'key_id', 'input_images'], target: ['provider', 'model', 'pricing'] },
]

test.each([
  ['without a number', '[["gen-1",7,2],["a/b",null],10,0.05]', null],
  ['with the number of an earlier form', '[1,["gen-1",7,2],["a/b",null],10,0.05]', null],
  ['with the number of this form', '[2,["s",  "gen-1",7,2],["p","a/b",null],10,0.05]', 's'],
])('R7 a draft %s is read by the columns of its form', (_, text, session) => {
  const draft = decodeDraft(text, forms)
  expect(draft.generation).toMatchObject({ id: 'gen-1', key_id: 7, input_images: 2, session_id: session })
  expect(draft.initialTarget).toMatchObject({ model: 'a/b', pricing: null })
  expect([draft.promptTokens, draft.byokFee]).toEqual([10, 0.05])
})

/** Only ever grows, by a line for each form that a release writes. */
const released = [
  'id organization_id workspace_id key_id user_id created_at requested_model dialect streamed preset_id session_id region app_url app_title external_user api_type user_agent request_id input_images / model provider endpoint upstream_dialect is_byok pricing',
]

test('R7 every released form is as it was', () => {
  const forms = draftFormats.map(({ generation, target }) => `${generation.join(' ')} / ${target.join(' ')}`)
  expect(forms.slice(0, released.length)).toEqual(released)
})

test('R7 the format that is written has every column of a draft', () => {
  const columns = generationColumns.filter((column) => generationTable[column].part === 'draft')
  const written: readonly string[] = draftFormats.at(-1)?.generation ?? []
  expect(written.toSorted()).toEqual(columns.toSorted())
})

test('R7 a draft of a newer form is not guessed at', () => {
  expect(() => decodeDraft('[3,["?"],["?"],1,1]', forms)).toThrow(NewerFormatError)
})

test('R9 a count that a checkpoint does not have is nothing', () => {
  const reply = { usage: { input: 3 }, complete: false, characters: 4, finished: false, failed: false }
  const checkpoint = decodeCheckpoint(JSON.stringify({ reply }))
  expect(checkpoint.reply.usage).toMatchObject({ input: 3, output: 0, cacheReadAudio: 0, webSearches: 0 })
})
