import { expect, test } from 'bun:test'
import { Vault } from './crypto.ts'

const vault = new Vault('a master secret of a test')

test.each([0, 1, 2, 3, 196_580, 196_608, 1_000_000])(
  'a text of %d bytes that is encrypted in chunks is decrypted as one text',
  async (length) => {
    const text = 'x'.repeat(length)
    const encrypted = await vault.encryptChunks([text.slice(0, 10), text.slice(10)], 'row')
    expect(vault.decrypt(encrypted, 'row') === text).toBeTrue()
    expect(Vault.plaintextBytes(encrypted)).toBe(length)
    expect(Vault.plaintextBytes(vault.encrypt(text, 'row'))).toBe(length)
    expect(() => vault.decrypt(encrypted, 'another row')).toThrow()
  },
)

test('sealing a long text yields to the event loop', async () => {
  const chunks = Array.from({ length: 256 }, () => 'x'.repeat(128 * 1024))
  let turns = 0
  let isDone = false
  const count = () => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await vault.encryptChunks(chunks, 'row')
  isDone = true
  expect(turns).toBeGreaterThan(2)
})
