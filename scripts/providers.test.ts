import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credentialFormOf, parseCredential } from '../src/catalog/credential.ts'
import { readConfig } from '../src/config.ts'
import { readSettings } from '../src/gateway/settings.ts'
import {
  buildByokExamples,
  buildYamlExamples,
  documentedProviders,
  pagePath,
  renderProviderPage,
  renderProvidersIndex,
} from './providers.ts'

const anyKey = '-----BEGIN PRIVATE KEY-----'

/** Reads an example with all of its variables set. */
async function readExample(text: string) {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-example-'))
  const path = join(directory, 'headgate.yaml')
  const variables = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, anyKey])
  try {
    await Bun.write(path, text)
    return readSettings(readConfig({ ...Object.fromEntries(variables), HEADGATE_CONFIG: path }))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test('the list of providers is up to date (regenerate it with npm run providers)', async () => {
  expect(await Bun.file('docs/providers/README.md').text()).toBe(renderProvidersIndex())
})

test('the example of an OpenAI-compatible server is valid', async () => {
  const page = await Bun.file('docs/providers/compatible.md').text()
  const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
  expect((await readExample(example)).models).toHaveLength(1)
})

describe.each(documentedProviders.map((provider) => [provider.slug, provider] as const))(
  'provider page of %s',
  (_, provider) => {
    test('is up to date (regenerate it with npm run providers)', async () => {
      expect(await Bun.file(pagePath(provider.slug)).text()).toBe(renderProviderPage(provider))
    })

    test('has valid examples', async () => {
      for (const [, text] of buildYamlExamples(provider)) {
        // Some examples only add models to a built-in provider.
        const { providers, models } = await readExample(text)
        expect(providers.length + models.length).toBeGreaterThan(0)
      }
      for (const [, text] of buildByokExamples(provider)) {
        expect(parseCredential(text, credentialFormOf(provider)).kind).not.toBe('token')
      }
    })
  },
)
