import { expect, test } from 'bun:test'
import { emptyImportDraft, parseVariables, toRequest } from './import-draft.ts'

test('variables are lines of a .env file', () => {
  expect(parseVariables('# keys\nexport A="x y"\nB=\'1\'\n C = z=1 \nnothing')).toEqual({
    A: 'x y',
    B: '1',
    C: 'z=1',
  })
})

test('files are sent as Base64, a text as it is', async () => {
  const files = [new File([new Uint8Array([0, 255, 83])], 'one.db')]
  expect(await toRequest({ ...emptyImportDraft, files, text: 'name,secret', source: 'keys' })).toEqual({
    source: 'keys',
    variables: {},
    files: [
      { name: 'one.db', content: 'AP9T', encoding: 'base64' },
      { name: 'pasted', content: 'name,secret', encoding: 'text' },
    ],
  })
})
