import { expect, test } from 'bun:test'
import { readPrompts } from './prompt-file.ts'

test.each([
  ['a CSV file with a known column', 'id,Prompt\n1,"Say ""hello"", please"\n2,Bye\n', false],
  ['a CSV file with one column and no header', '"Say ""hello"", please"\nBye\n\n', false],
  ['JSON Lines with texts', '"Say \\"hello\\", please"\n"Bye"\n', true],
  ['JSON Lines with fields', '{"prompt": "Say \\"hello\\", please"}\n\n{"input": "Bye"}', true],
  [
    'JSON Lines with messages',
    '{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "Say \\"hello\\", please"}]}\n{"messages": [{"role": "user", "content": "Bye"}]}',
    true,
  ],
  ['a JSON array', '["Say \\"hello\\", please", {"question": "Bye"}]', true],
])('reads %s', async (_, text, isJson) => {
  expect(await readPrompts(text, isJson)).toEqual({ prompts: ['Say "hello", please', 'Bye'], note: null })
})

test('reads 50 prompts, and says how many there are', async () => {
  const lines = Array.from({ length: 60 }, (_, line) => `Prompt ${line}`).join('\n')
  const { prompts, note } = await readPrompts(lines, false)
  expect(prompts).toHaveLength(50)
  expect(note).toBe('Loaded the first 50 of 60 prompts.')
})

test.each([
  ['', false, 'The file has no prompts.'],
  ['{"a": 1}', true, 'Line 1 has no prompt.'],
  ['"ok"\n{', true, 'Line 2 is not JSON.'],
  [`"${'x'.repeat(20_001)}"`, true, 'Prompt 1 is longer than 20,000 characters.'],
])('says what is wrong with %p', async (text, isJson, message) => {
  expect(readPrompts(text, isJson)).rejects.toThrow(message)
})
