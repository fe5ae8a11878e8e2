// Generates docs/providers: one page per built-in provider, from its definition and notes.ts.
import type { Provider } from '../src/catalog/provider.ts'
import { findScheme } from '../src/catalog/provider-auth/all.ts'
import { providers } from '../src/catalog/providers/all.ts'
import { readSnapshot } from '../src/catalog/snapshot.ts'
import { upstreamFormats } from '../src/formats/all.ts'
import type { MediaWireFormat } from '../src/formats/media.ts'
import { speechWireFormats } from '../src/formats/speech/all.ts'
import { transcriptionWireFormats } from '../src/formats/transcriptions/all.ts'
import { isTextWireFormat, type WireFormatName } from '../src/formats/vocabulary.ts'
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
    '## Environment variables',
    renderEnvironment(provider),
    '## Configuration file',
    ...(hasModels(provider) ? [] : [noModelsNotice]),
    ...buildYamlExamples(provider).map(([title, text]) => `${title}:\n\n\`\`\`yaml\n${text}\n\`\`\``),
    '## BYOK',
    renderByokSection(provider),
    ...(notes[slug] ? ['## Notes', notes[slug].remarks.map((text) => `- ${text}`).join('\n')] : []),
    `Recorded requests: [\`${slug}.json\`](../../test/providers/snapshots/${slug}.json). All providers: [README.md](README.md).`,
  ]
  const pageParts = hasTextWireFormat(provider)
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
  'The built-in catalog has no models of this provider. Declare the models that you use in headgate.yaml, or add them [through the API](../catalog.md).'

function hasTextWireFormat(provider: Provider): boolean {
  return provider.wireFormats.some(isTextWireFormat)
}

function renderAttributes(provider: Provider): string {
  const { slug, baseUrl, dataPolicy } = provider
  const rows = [
    ['Slug', `\`${slug}\``],
    ['Base URL', `\`${baseUrl}\``],
    ['Formats', provider.wireFormats.join(', ')],
    ['Authentication', describeAuthentication(provider)],
    ['Trains on prompts', dataPolicy.training ? 'yes, or not ruled out' : 'no'],
    ['Stores prompts', dataPolicy.retains ? 'yes, or not ruled out' : 'no'],
    ...(provider.statusPageUrl ? [['Status', `<${provider.statusPageUrl}>`]] : []),
  ]
  return `| | |\n|---|---|\n${rows.map(([title, value]) => `| ${title} | ${value} |`).join('\n')}`
}

function describeAuthentication({ keyHeader, auth, wireFormats: names }: Provider): string {
  const shown = new Set(
    names.map((name) => {
      const defaults = findDefaults(name)
      const header = keyHeader ?? defaults.keyHeader ?? 'authorization'
      if (header !== 'authorization') return `\`${header}\``
      return `\`Authorization: ${defaults.keyScheme ?? 'Bearer'}\``
    }),
  )
  const label = auth && findScheme(auth.scheme).format?.label
  return [[...shown].join(', '), ...(label ? [`or ${label}`] : [])].join(', ')
}

const mediaWireFormats: Readonly<Partial<Record<WireFormatName, MediaWireFormat<never>>>> = {
  ...speechWireFormats,
  ...transcriptionWireFormats,
}

function findDefaults(name: WireFormatName): MediaWireFormat<never>['defaults'] {
  if (isTextWireFormat(name)) return upstreamFormats[name].upstream.defaults
  return mediaWireFormats[name]?.defaults ?? { headers: {} }
}

function renderEnvironment(provider: Provider): string {
  const { keyVariable, keyFile, settings = {} } = provider
  const requiredSettings = listRequiredSettings(provider).map((name) => `\`${name}\``)
  const condition = requiredSettings.length > 0 ? ` together with ${requiredSettings.join(' and ')}` : ''
  const key = keyFile
    ? 'The credential as JSON, or the path of its file'
    : `The API key; enables the provider${condition}`
  const rows = [
    [keyVariable ?? '', key],
    ...Object.entries(settings).flatMap(([name, { variables }]) =>
      variables.map((variable, index) => [
        variable,
        index === 0 ? `\`${name}\`` : `\`${name}\`, if \`${variables[index - 1]}\` is not set`,
      ]),
    ),
  ]
  return `| Variable | Meaning |\n|---|---|\n${rows.map(([name, meaning]) => `| \`${name}\` | ${meaning} |`).join('\n')}`
}

/** Settings that are part of the base URL. */
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
  const title = hasModels(provider) ? 'With an API key' : 'With an API key and a model'
  return [[title, plain.join('\n')], ...(notes[slug]?.yaml ?? [])]
}

function buildSampleModel(slug: string): string[] {
  return [
    'models:',
    '  - id: acme/large',
    '    name: Acme Large',
    '    endpoints:',
    `      - provider: ${slug}`,
    '        upstream_model: name-at-the-provider',
    '        pricing: { prompt: "0.000001", completion: "0.000002" }',
  ]
}

export function buildByokExamples({ slug }: Provider): [string, string][] {
  const values = notes[slug]?.keys ?? []
  return values.map(([title, value]) => [title, JSON.stringify(value, null, 2)])
}

function renderByokSection(provider: Provider): string {
  const others = buildByokExamples(provider).map(
    ([title, text]) => `${title}, as a JSON string in \`key\`:\n\n\`\`\`json\n${text}\n\`\`\``,
  )
  return [
    `\`POST /byok\` with \`"provider": "${provider.slug}"\` and an API key in \`key\`; see [BYOK](../byok.md).`,
    ...others,
  ].join('\n\n')
}

export function renderProvidersIndex(): string {
  const rows = documentedProviders.map(
    ({ slug, name, keyVariable, wireFormats: names }) =>
      `| [${name}](${slug}.md) | \`${slug}\` | \`${keyVariable}\` | ${names.join(', ')} | ${listedProviders.has(slug) ? 'built in' : 'declare them'} |`,
  )
  return `# Providers

Enable a provider with its usual environment variable, in headgate.yaml, or for one workspace with a [BYOK](../byok.md) key. For servers that are not listed, see [OpenAI-compatible servers](compatible.md). To try Headgate without a provider, use the [sandbox](../sandbox.md). These pages, except [compatible.md](compatible.md), are generated by \`npm run providers\`.

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
