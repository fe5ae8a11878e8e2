import { describe, expect, test } from 'bun:test'
import { redactWith } from '../../../test/support/detectors.ts'
import { fakeSecrets, secretFormats } from './corpus/fake-secrets.ts'
import { secretFormats as allFormats } from './secret-formats.ts'
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

  test('formats have different beginnings or different ends, and all are bounded', () => {
    expect(new Set(allFormats.map(({ id }) => id)).size).toBeGreaterThan(140)
    for (const { pattern } of allFormats) expect(pattern.source).not.toMatch(/[^\\][+*](?![^[]*\])|\{\d+,\}/)
  })
})

const value = 'q7Xw2Lr9Tz4Vb8Nc6Mk3'

describe('values by the name before them', () => {
  test.each([
    `api_key = "${value}"`,
    `ACME_TOKEN=${value}`,
    `"acme_secret": "${value}"`,
    `{\\"clientSecret\\": \\"${value}\\"}`,
    `acmeToken := \`${value}\``,
    `var acmeToken string = "${value}"`,
    `let acmeToken: String = "${value}"`,
    `<acmeToken>\n  ${value}\n</acmeToken>`,
    `<add key="ApiToken" value="${value}" />`,
    `System.setProperty("ACME_TOKEN", "${value}")`,
    `client.setToken("${value}")`,
    `https://acme.test/?access_token=${value}&page=2`,
    `acme --api-token ${value}`,
    `The API key is ${value}.`,
    `the token \`${value}\``,
    `Authorization: Bearer ${value}`,
    `-H "Authorization: Basic ${value}=="`,
    `AccountKey=${value}${value}==;EndpointSuffix=core.windows.net`,
    `heroku_key: 8f14e45f-ceea-467f-a8c1-2b3d4e5f6a7b`,
    `password = "Winter!${value.slice(0, 4)}"`,
    `My password is ${value.slice(0, 8)}!!`,
    `curl -u admin:${value} https://acme.test`,
    `postgres://app:${value}@db.acme.test:5432/app`,
    `redis://:${value}@cache`,
    `AKIAQ7XW2LR5TZ4VB6NC\n${value}${value}`,
    `client_secret=abc8Q~${value}${value.slice(0, 12)}`,
  ])('%s', (text) => {
    expect(redactWith(findSecrets, text)).toMatch(/\[SECRET:[a-z-]+\]/)
    expect(redactWith(findSecrets, text)).not.toContain(value.slice(0, 4))
    expect(redactWith(findSecrets, text)).not.toContain('8f14e45f')
  })

  test.each([
    'api_key = "your-api-key"',
    'api_key = "xxxxxxxxxxxxxxxxxxxx"',
    `api_key = "\${ACME_API_KEY2}"`,
    'api_key = process.env.ACME_API_KEY2',
    'token = getToken2(request)',
    'AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE',
    'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'glpat-00000000000000000000',
    'token_1234567890 = "abcdefghijklmnop1"',
    'postgres://user:password@localhost/db',
    `postgres://user:\${PASSWORD}@localhost/db`,
    `public_key = "${value}${value}"`,
    `token_id = "${value}"`,
    'secretName: acme-production-2024-database',
    'max_tokens: 4096, total_tokens: 1234567890123456',
    'password: string, newPassword2: String',
    'the password field must have 12 characters',
    'cache_key = "users:12345:profile"',
    'if (!pem.startsWith("-----BEGIN PRIVATE KEY-----")) throw new Error("no key")',
    `sha256: ${'9f86d081884c7d65'.repeat(4)}`,
    'tokenizer = "cl100k_base_v2_fast"',
    'commit 8f14e45fceea467fa8c12b3d4e5f6a7b8c9d0e1f',
  ])('none in %s', (text) => {
    expect(findSecrets(text)).toEqual([])
  })
})
