import { describe, expect, test } from 'bun:test'
import { redactWith } from '../../../test/support/detectors.ts'
import { fakeSecrets, secretFormats } from './corpus/fake-secrets.ts'
import { findSecrets } from './secrets.ts'

const forms = secretFormats.flatMap((id) => fakeSecrets(id).map((value) => [id, value] as const))

describe('secrets', () => {
  test('there are 33 formats', () => {
    expect(secretFormats).toHaveLength(33)
  })

  test.each(forms)('%s is redacted whole: %s', (id, value) => {
    expect(redactWith(findSecrets, value)).toBe(`[SECRET:${id}]`)
    expect(findSecrets(value).map(({ kind }) => kind)).toEqual([id])
    expect(redactWith(findSecrets, `KEY="${value}";`)).toBe(`KEY="[SECRET:${id}]";`)
    expect(redactWith(findSecrets, `"a\\n${value}"`)).toBe(`"a\\n[SECRET:${id}]"`)
    expect(redactWith(findSecrets, `x=${value}\ny=1`)).toBe(`x=[SECRET:${id}]\ny=1`)
  })

  test.each(forms.filter(([id]) => !/private-key-block|slack-webhook|telegram/.test(id)))(
    '%s is none inside a longer word: %s',
    (_, value) => {
      expect(findSecrets(`prefix${value}`)).toEqual([])
    },
  )

  test('a private key without its end is redacted to the end of the text, but not without limit', () => {
    const open = `a -----BEGIN ${'RSA '}PRIVATE KEY-----\nabc`
    expect(redactWith(findSecrets, open)).toBe('a [SECRET:private-key-block]')
    const [span] = findSecrets(open + 'x'.repeat(100_000))
    expect((span?.end ?? 0) - (span?.start ?? 0)).toBe(20_000)
  })

  test.each([
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    '123e4567-e89b-12d3-a456-426614174000',
    'transaction hash 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
    'block 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
    'sk-proj-short',
    'sk-learn',
    'xoxo',
    'npm_config_cache',
    'hf_transfer',
    'AKIAEXAMPLE',
    '-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----',
    'https://hooks.example.com/services/T00/B00/x',
    'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==',
  ])('none in %s', (text) => {
    expect(findSecrets(text)).toEqual([])
  })
})
