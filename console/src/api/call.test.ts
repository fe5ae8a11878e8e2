import { expect, test } from 'bun:test'
import { callOf, curlOf } from './call.ts'

const base = 'https://gateway.example.com/prefix/api/v1'

test('a query is a call with its path, its parameters and its body', () => {
  const init = { params: { path: { hash: 'a/b' }, query: { limit: 2, after: undefined } } }
  const call = callOf({ queryKey: ['get', '/keys/{hash}', init] })
  expect(curlOf(call, base)).toBe(
    `curl '${base}/keys/a%2Fb?limit=2' \\\n  -H "Authorization: Bearer $HEADGATE_KEY"`,
  )
})

test('a body with quotes stays one argument of the shell', () => {
  const call = callOf({ queryKey: ['post', '/keys', { body: { name: "it's" } }] })
  expect(curlOf(call, base)).toContain(`-d '{\n  "name": "it'\\''s"\n}'`)
})
