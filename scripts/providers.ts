// Writes docs/providers: one page for each built-in provider, from its data and what notes.ts adds.
import type { Provider } from '../src/catalogue/provider.ts'
import { readSnapshot } from '../src/catalogue/snapshot.ts'
import { isGenerateDialect } from '../src/catalogue/vocabulary.ts'
import { dialects } from '../src/dialects/all.ts'
import { providers } from '../src/providers/all.ts'
import { findScheme } from '../src/sign-in/all.ts'
import { notes } from './providers/notes.ts'

export const documentedProviders = providers.filter(({ inProcess }) => !inProcess)

export function pagePath(slug: string): string {
  return `docs/providers/${slug}.md`
}

export function renderProviderPage(provider: Provider): string {
  const { slug, name } = provider
  const parts = [
    `# ${name}`,
    renderAttributes(provider),
    '## By environment',
    renderEnvironment(provider),
    '## In headgate.yaml',
    ...(hasModels(provider) ? [] : [noModelsNotice]),
    ...buildYamlExamples(provider).map(([title, text]) => `${title}:\n\n\`\`\`yaml\n${text}\n\`\`\``),
    '## With a key of your own',
    renderByokSection(provider),
    ...(notes[slug] ? ['## What to know', notes[slug].remarks.map((text) => `- ${text}`).join('\n')] : []),
    `What it is sent, to the letter: [\`${slug}.json\`](../../test/providers/snapshots/${slug}.json). All providers: [README.md](README.md).`,
  ]
  const pageParts = hasGenerateDialect(provider)
    ? parts
    : [...parts.slice(0, -1), 'All providers: [README.md](README.md).']
  return `${pageParts.join('\n\n')}\n`
}

const listedProviders = new Set(
  readSnapshot().models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)),
)

function hasModels({ slug }: Provider): boolean {
  return listedProviders.has(slug)
}

const noModelsNotice =
  'The catalogue that comes with Headgate has no models of this provider, so that its key alone makes nothing callable: declare the models you use, in this file or [while the server runs](../catalogue.md).'

function hasGenerateDialect(provider: Provider): boolean {
  return provider.dialects.some(isGenerateDialect)
}

function renderAttributes(provider: Provider): string {
  const { slug, baseUrl, dataPolicy } = provider
  const rows = [
    ['Slug', `\`${slug}\``],
    ['Address', `\`${baseUrl}\``],
    ['Formats', provider.dialects.join(', ')],
    ['Signs in with', describeSigning(provider)],
    ['Trains on prompts', dataPolicy.training ? 'has not promised that it does not' : 'no'],
    ['Keeps prompts', dataPolicy.retains ? 'yes, or has not promised that it does not' : 'no'],
    ...(provider.statusPageUrl ? [['Status', `<${provider.statusPageUrl}>`]] : []),
  ]
  return `| | |\n|---|---|\n${rows.map(([title, value]) => `| ${title} | ${value} |`).join('\n')}`
}

function describeSigning({ keyHeader, signIn, dialects: names }: Provider): string {
  const own = names.filter(isGenerateDialect).map((name) => dialects[name].upstream.defaults.keyHeader)
  const headers = new Set((keyHeader ? [keyHeader] : own).map((header) => header ?? 'authorization'))
  const shown = [...(headers.size > 0 ? headers : ['authorization'])].map((header) =>
    header === 'authorization' ? '`Authorization: Bearer`' : `\`${header}\``,
  )
  const label = signIn && findScheme(signIn.scheme).format?.label
  return [shown.join(', '), ...(label ? [`or ${label}`] : [])].join(', ')
}

function renderEnvironment(provider: Provider): string {
  const { keyVariable, keyFile, settings = {} } = provider
  const requiredSettings = listRequiredSettings(provider).map((name) => `\`${name}\``)
  const set = requiredSettings.length > 0 ? `with ${requiredSettings.join(' and ')} said too` : 'set'
  const key = keyFile
    ? 'The credential, or the path of its file'
    : `The credential; ${set}, it enables the provider`
  const rows = [
    [keyVariable ?? '', key],
    ...Object.entries(settings).flatMap(([name, { variables }]) =>
      variables.map((variable, place) => [
        variable,
        place === 0 ? `\`${name}\`` : `\`${name}\`, if the one before is not set`,
      ]),
    ),
  ]
  return `| Variable | Meaning |\n|---|---|\n${rows.map(([name, meaning]) => `| \`${name}\` | ${meaning} |`).join('\n')}`
}

/** Settings that the address cannot do without. */
function listRequiredSettings({ baseUrl, settings = {} }: Provider): string[] {
  return Object.keys(settings).filter((name) => baseUrl.includes(`{${name}}`))
}

const sampleValues: Record<string, string | undefined> = {
  region: 'eu-west-1',
  project: 'my-project',
  resource: 'my-resource',
  account: '0123456789abcdef',
}

export function buildYamlExamples(provider: Provider): [string, string][] {
  const { slug, keyVariable } = provider
  const requiredSettings = listRequiredSettings(provider)
  const samples: typeof sampleValues = { ...sampleValues, region: notes[slug]?.region ?? sampleValues.region }
  const filled = requiredSettings.map((name) => `${name}: ${samples[name]}`).join(', ')
  const plain = [
    'providers:',
    `  - slug: ${slug}`,
    `    api_key: \${${notes[slug]?.tokenVariable ?? keyVariable}}`,
    ...(filled ? [`    settings: { ${filled} }`] : []),
    ...(hasModels(provider) ? [] : buildSampleModel(slug)),
  ]
  const title = hasModels(provider) ? 'A token' : 'A token, and a model'
  return [[title, plain.join('\n')], ...(notes[slug]?.yaml ?? [])]
}

function buildSampleModel(slug: string): string[] {
  return [
    'models:',
    '  - id: acme/large',
    '    name: Acme Large',
    '    endpoints:',
    `      - provider: ${slug}`,
    '        upstream_model: its-name-there',
    '        pricing: { prompt: "0.000001", completion: "0.000002" }',
  ]
}

export function buildByokExamples({ slug }: Provider): [string, string][] {
  const values = notes[slug]?.keys ?? []
  return values.map(([title, value]) => [title, JSON.stringify(value, null, 2)])
}

function renderByokSection(provider: Provider): string {
  const others = buildByokExamples(provider).map(
    ([title, text]) => `${title}, as a text in \`key\`:\n\n\`\`\`json\n${text}\n\`\`\``,
  )
  return [
    `\`POST /byok\` with \`"provider": "${provider.slug}"\` and a token in \`key\`; see [BYOK](../byok.md).`,
    ...others,
  ].join('\n\n')
}

export function renderProvidersIndex(): string {
  const rows = documentedProviders.map(
    ({ slug, name, keyVariable, dialects: names }) =>
      `| [${name}](${slug}.md) | \`${slug}\` | \`${keyVariable}\` | ${names.join(', ')} | ${listedProviders.has(slug) ? 'in the catalogue' : 'to be declared'} |`,
  )
  return `# Providers

Each is enabled by the environment variable its own tools use, by headgate.yaml, or, for one workspace, by a key of its own ([BYOK](../byok.md)). A server that is not listed: [any server of the OpenAI shape](compatible.md). Nothing at all: the [sandbox](../sandbox.md). These pages are made by \`npm run providers\`, but for [compatible.md](compatible.md).

| Provider | Slug | Variable | Formats | Models |
|---|---|---|---|---|
${rows.join('\n')}
`
}

if (import.meta.main) {
  await Bun.write('docs/providers/README.md', renderProvidersIndex())
  for (const provider of documentedProviders)
    await Bun.write(pagePath(provider.slug), renderProviderPage(provider))
}
