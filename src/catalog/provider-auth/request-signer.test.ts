import { expect, test } from 'bun:test'
import { authSchemes } from './all.ts'
import { RequestSigner } from './request-signer.ts'

const signer = new RequestSigner({ now: () => Date.parse('2026-11-15T12:00:00Z') })
const request = { method: 'POST', url: 'https://provider.example/', headers: {}, body: '{}' }
const context = { keyHeader: 'authorization', settings: {}, options: undefined, allowPrivate: [] }
const accessKey = {
  kind: 'access-key',
  accessKeyId: 'AKID',
  secretAccessKey: 'secret',
  region: 'eu-west-1',
} as const

test('no two schemes are for the same kind of credential', () => {
  const kinds = authSchemes.map(({ kind }) => kind)
  expect(new Set(kinds).size).toBe(kinds.length)
})

test.each([
  ['authorization', { authorization: 'Bearer k' }],
  ['x-api-key', { 'x-api-key': 'k' }],
])('a token in the header %s', async (keyHeader, headers) => {
  expect(await signer.sign(request, { kind: 'token', token: 'k' }, { ...context, keyHeader })).toEqual(
    headers,
  )
})

test('a provider that needs no credential is sent none', async () => {
  expect(await signer.sign(request, { kind: 'none' }, context)).toEqual({})
})

test('a token is accepted by a provider that declares a scheme', async () => {
  const options = { scheme: 'access-key', service: 'bedrock' } as const
  const headers = await signer.sign(request, { kind: 'token', token: 'k' }, { ...context, options })
  expect(headers).toEqual({ authorization: 'Bearer k' })
})

test('a credential of a scheme that the provider does not declare is rejected, without naming it', () => {
  const options = { scheme: 'service-account', tokenUrl: 'https://provider.example/token' } as const
  for (const declared of [undefined, options]) {
    expect(() => signer.sign(request, accessKey, { ...context, options: declared })).toThrow(
      'The provider does not accept credentials of this kind.',
    )
  }
})

test('forgetting a token does nothing for schemes that cache none', () => {
  expect(() => signer.forgetToken({ kind: 'token', token: 'k' }, context)).not.toThrow()
})
