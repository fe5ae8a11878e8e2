import { Code, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { CodeBlock } from '../../components/copy.tsx'
import { Fields } from '../../components/fields.tsx'
import { formatLabels, type PresetVersion } from './draft.ts'
import { writeValue } from './version-diff.ts'

/** Shows the content of a version. */
export function VersionContent({ version }: { version: PresetVersion }) {
  const fields = Object.entries(version.config).map(([name, value]): [string, ReactNode] => {
    const text = writeValue(value)
    return [
      name,
      <Code
        key={name}
        block={text.includes('\n')}
        style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
      >
        {text}
      </Code>,
    ]
  })
  return (
    <Stack gap="sm">
      <Fields fields={[['format', formatLabels[version.format]], ...fields]} />
      {version.system_prompt === null ? (
        <Text size="sm" c="dimmed">
          No system prompt.
        </Text>
      ) : (
        <div>
          <Text size="sm" c="dimmed" pb={4}>
            System prompt
          </Text>
          <CodeBlock code={version.system_prompt} label="Copy the system prompt" />
        </div>
      )}
    </Stack>
  )
}
