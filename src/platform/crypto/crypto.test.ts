import { expect, test } from 'bun:test'
import { Vault } from './crypto.ts'

const vault = new Vault('a master secret of a test')

test.each([0, 1, 2, 3, 196_580, 196_608, 1_000_000])(
  'a text of %d bytes that is sealed in chunks opens as one text',
  async (length) => {
    const text = 'x'.repeat(length)
    const sealed = await vault.sealChunks([text.slice(0, 10), text.slice(10)], 'row')
    expect(vault.open(sealed, 'row') === text).toBeTrue()
    expect(Vault.plaintextBytes(sealed)).toBe(length)
    expect(Vault.plaintextBytes(vault.seal(text, 'row'))).toBe(length)
    expect(() => vault.open(sealed, 'another row')).toThrow()
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
  await vault.sealChunks(chunks, 'row')
  isDone = true
  expect(turns).toBeGreaterThan(2)
})
