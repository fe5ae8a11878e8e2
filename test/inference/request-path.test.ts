import { beforeAll, describe, expect, test } from 'bun:test'
import type { SourceFunction } from '../support/entered-functions/instrument.ts'

type Mode = 'whole' | 'streamed'

let entered: Record<Mode, SourceFunction[]>
beforeAll(async () => {
  const folder = './test/support/entered-functions'
  const command = [
    process.execPath,
    '--no-env-file',
    '--preload',
    `${folder}/instrument.ts`,
    `${folder}/record.ts`,
  ]
  entered = JSON.parse(await new Response(Bun.spawn(command).stdout).text())
})

function count(mode: Mode): { functions: number; files: number } {
  return { functions: entered[mode].length, files: new Set(entered[mode].map(({ file }) => file)).size }
}

// A request costs as much as the code it runs through. Raise a limit only for a duty of every request; what few
// requests need must not be called for the others. `test/support/entered-functions/record.ts` prints the functions.
describe('the functions of src that a plain chat request enters', () => {
  test('for a whole reply', () => {
    const { functions, files } = count('whole')
    expect(functions).toBeLessThanOrEqual(310)
    expect(files).toBeLessThanOrEqual(112)
  })

  test('for a streamed reply', () => {
    const { functions, files } = count('streamed')
    expect(functions).toBeLessThanOrEqual(444)
    expect(files).toBeLessThanOrEqual(129)
  })

  test('do not decode the prompt', () => {
    const files = entered.whole.map(({ file }) => file)
    expect(files).not.toContain('formats/chat/request-decode.ts')
  })

  test('do nothing for shadows', () => {
    const files = [...entered.whole, ...entered.streamed].map(({ file }) => file)
    expect(files.filter((file) => file.startsWith('inference/shadow/'))).toEqual([])
  })
})
