import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '../src/app/settings.ts'
import { credentialFormOf, parseCredential } from '../src/catalogue/credential.ts'
import { readConfig } from '../src/config.ts'
import {
  buildByokExamples,
  buildYamlExamples,
  documentedProviders,
  pagePath,
  renderProviderPage,
  renderProvidersIndex,
} from './providers.ts'

const anyKey = '-----BEGIN PRIVATE KEY-----'

/** Every variable is set, as `config check` would be told. */
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

test('the list of providers is what there is (npm run providers writes it)', async () => {
  expect(await Bun.file('docs/providers/README.md').text()).toBe(renderProvidersIndex())
})

test('the example of a server that is not built in is read', async () => {
  const page = await Bun.file('docs/providers/compatible.md').text()
  const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
  expect((await readExample(example)).models).toHaveLength(1)
})

describe.each(documentedProviders.map((provider) => [provider.slug, provider] as const))(
  'the page of %s',
  (_, provider) => {
    test('is what its data says (npm run providers writes it)', async () => {
      expect(await Bun.file(pagePath(provider.slug)).text()).toBe(renderProviderPage(provider))
    })

    test('has examples that are read', async () => {
      for (const [, text] of buildYamlExamples(provider)) {
        // Those with models alone stand beside a provider that is known.
        const { providers, models } = await readExample(text)
        expect(providers.length + models.length).toBeGreaterThan(0)
      }
      for (const [, text] of buildByokExamples(provider)) {
        expect(parseCredential(text, credentialFormOf(provider)).kind).not.toBe('token')
      }
    })
  },
)
