import { expect, test } from 'bun:test'
import { emitKeypressEvents } from 'node:readline'
import { PassThrough } from 'node:stream'
import { readSecret } from './secret-prompt.ts'

async function type(text: string): Promise<string> {
  const input = new PassThrough()
  emitKeypressEvents(input)
  const secret = readSecret(input)
  input.write(text)
  return secret
}

test('a typed or pasted secret ends with the line; keys that are no text are not part of it', async () => {
  expect(await type('sk-salt 1!\r')).toBe('sk-salt 1!')
  expect(await type('sk-x\u007f\u001b[Asalt\n')).toBe('sk-salt')
})

test('Ctrl+C gives none, and no secret is longer than its limit', async () => {
  expect(await type('sk-half\u0003')).toBe('')
  expect((await type(`${'a'.repeat(3000)}\r`)).length).toBe(1000)
})
