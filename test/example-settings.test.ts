import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { readConfig } from '../src/config.ts'
import { readSettings, settingsFields } from '../src/gateway/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-example-'))
afterAll(() => rmSync(folder, { recursive: true }))

const example = await Bun.file('headgate.example.yaml').text()
/**
 * The example with every section uncommented: a section begins with # and its name, and goes on with indented lines.
 */
const uncommented = example.replace(/^#\w.*(?:\n# {2}.*)*/gm, (section) => section.replace(/^#/gm, ''))
const environment = { LOCAL_KEY: 'local', OREGON_KEY_ID: 'AKIAEXAMPLE', OREGON_SECRET: 'secret' }

async function writeSettings(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await Bun.write(path, text)
  return path
}

const { public_url: _, smtp: _smtp, ...defaults } = settingsFields.parse({})

/** Drops the sections that show an example, because their default is empty. */
function withoutExamples(settings: typeof defaults) {
  const { regions, egress, billing, tiers, usage_limits, providers, models, passthrough, ...rest } = settings
  return rest
}

describe('headgate.example.yaml', () => {
  test.each([
    ['as it is', example],
    ['with every section uncommented', uncommented],
  ])('%s is valid to config check', async (name, text) => {
    const file = await writeSettings(`${name}.yaml`, text)
    const { exited, stdout } = Bun.spawn(
      ['node', join(process.cwd(), 'scripts/launch.mjs'), 'config', 'check'],
      {
        cwd: folder,
        env: {
          ...environment,
          PATH: process.env.PATH ?? '',
          HEADGATE_CONFIG: file,
          HEADGATE_DATA_DIR: folder,
        },
      },
    )
    expect(await new Response(stdout).text()).toBe(`The configuration is valid (${file}).\n`)
    expect(await exited).toBe(0)
  })

  test('has every section, and every setting of each', () => {
    const shown = parse(uncommented) as Record<string, object>
    expect(Object.keys(shown).sort()).toEqual(Object.keys(settingsFields.shape).sort())
    for (const [section, value] of Object.entries<object>(defaults)) {
      expect(Object.keys(shown[section] ?? {})).toEqual(expect.arrayContaining(Object.keys(value)))
    }
  })

  test('shows the defaults', async () => {
    const file = await writeSettings('uncommented.yaml', uncommented)
    const shown = readSettings(readConfig({ ...environment, HEADGATE_CONFIG: file }))
    expect(shown).toMatchObject(withoutExamples(defaults))
    expect(shown.billing.byok_fee).toBe(defaults.billing.byok_fee)
  })
})

test('a value that ledger.durability does not have is rejected by its name', async () => {
  const file = await writeSettings('durability.yaml', 'ledger:\n  durability: sometimes\n')
  const read = () => readSettings(readConfig({ HEADGATE_CONFIG: file }))
  expect(read).toThrow(/line 2.*ledger\.durability|ledger\.durability.*line 2/)
})
