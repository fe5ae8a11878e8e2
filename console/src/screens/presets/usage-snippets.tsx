import { Stack, Text } from '@mantine/core'
import { curlOf } from '../../api/call.ts'
import type { Schemas } from '../../api/client.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { Panel } from '../../components/panel.tsx'
import type { PresetFormat } from './draft.ts'

const paths: Record<PresetFormat, string> = {
  chat: '/chat/completions',
  messages: '/messages',
  responses: '/responses',
}

/** Shows a request that uses the preset, in the format it was made for. */
export function UsageSnippets({ preset }: { preset: Schemas['PresetWithDesignatedVersion'] }) {
  const format = preset.designated_version?.format ?? 'chat'
  const content =
    format === 'responses' ? { input: 'Hello' } : { messages: [{ role: 'user', content: 'Hello' }] }
  const call = (body: Record<string, unknown>) =>
    curlOf({ method: 'POST', path: paths[format], body: { ...body, ...content } })
  const model = preset.designated_version?.config.model
  const samples = [
    { title: 'In place of a model', code: call({ model: `@preset/${preset.slug}` }) },
    {
      title: 'With another model than that of the preset',
      code: call({ model: `${typeof model === 'string' ? model : 'sandbox/echo'}@preset/${preset.slug}` }),
    },
  ]
  return (
    <Panel
      title="Use it"
      description="Every key of the organization can use it. Fields in a request override those of the preset."
    >
      <Stack gap="sm">
        {samples.map(({ title, code }) => (
          <div key={title}>
            <Text size="sm" fw={600} pb={4}>
              {title}
            </Text>
            <CodeBlock code={code} label={`Copy: ${title}`} />
          </div>
        ))}
      </Stack>
    </Panel>
  )
}
