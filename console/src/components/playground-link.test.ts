import { expect, test } from 'bun:test'
import { decodePrompt, encodePrompt, type SharedPrompt } from './playground-link.ts'

const prompt: SharedPrompt = {
  models: ['sandbox/echo', 'sandbox/reasoner'],
  draft: 'Grüße <script>alert(1)</script>',
  settings: { temperature: 0.5 },
  messages: [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hello' },
  ],
}

test('a link holds the prompt, in letters that an address needs not escape', async () => {
  const fragment = await encodePrompt(prompt)
  expect(fragment).toMatch(/^[\w-]+$/)
  expect(await decodePrompt(fragment ?? '')).toEqual(prompt)
})

test('a prompt that is too long for an address has no link', async () => {
  const noise = Array.from({ length: 40_000 }, (_, index) => Math.sin(index).toString(36)).join('')
  expect(await encodePrompt({ ...prompt, draft: noise })).toBeNull()
})

test('a damaged link is refused, and so is one that grows without end', async () => {
  expect(await decodePrompt('')).toBeNull()
  expect(await decodePrompt('not a prompt')).toBeNull()
  const zeros = new Blob([JSON.stringify({ draft: '0'.repeat(10_000_000) })])
  const packed = new Response(zeros.stream().pipeThrough(new CompressionStream('deflate-raw')))
  const bomb = Buffer.from(await packed.arrayBuffer()).toString('base64url')
  expect(bomb.length).toBeLessThan(30_000)
  expect(await decodePrompt(bomb)).toBeNull()
})

test('what is not of its type is left out', async () => {
  const wrong = {
    models: [1, 'a', 'b', 'c', 'd', 'e'],
    draft: {},
    settings: [],
    messages: [{ content: 1 }, 'x'],
  }
  const fragment = await encodePrompt(wrong as unknown as SharedPrompt)
  expect(await decodePrompt(fragment ?? '')).toEqual({
    models: ['a', 'b', 'c', 'd'],
    draft: '',
    settings: {},
    messages: [],
  })
})
