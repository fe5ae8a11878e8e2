import { Badge, Button, Code, Group, Stack, Text } from '@mantine/core'
import { Copy } from '../../components/copy.tsx'
import { downloadBlob } from '../../components/download.ts'
import { formatBytes, formatDuration } from '../../format/number.ts'
import type { Reply } from './send.ts'

/** Longer texts are shown as they arrived. */
const maxFormatted = 200_000

/** Status, headers and body of a reply, the body as text. */
export function ReplyView({ reply, name }: { reply: Reply; name: string }) {
  const { status, statusText, headers, durationMs, text, isCut, file, isDone } = reply
  const shown = isDone ? formatBody(text) : text
  return (
    <Stack gap="xs" aria-label="Reply" component="section" aria-busy={!isDone}>
      <Group gap="sm">
        <Badge variant="dot" color={status < 400 ? 'teal' : 'red'} tt="none">
          {status} {statusText}
        </Badge>
        <Text size="sm" c="dimmed" role="status">
          {formatDuration(durationMs)}
          {!isDone && ', receiving'}
          {isCut && ', cut off'}
        </Text>
      </Group>
      <details>
        <Text component="summary" size="sm" style={{ cursor: 'pointer' }}>
          Headers
        </Text>
        <Code block tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {headers.map(([header, value]) => `${header}: ${value}`).join('\n')}
        </Code>
      </details>
      {file && (
        <Group>
          <Button size="xs" variant="default" onClick={() => downloadBlob(name, file)}>
            Save the file ({formatBytes(file.size)}, {file.type || 'unknown type'})
          </Button>
        </Group>
      )}
      {shown !== '' && (
        <div style={{ position: 'relative' }}>
          <Code
            block
            tabIndex={0}
            mah={480}
            style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', overflowY: 'auto', paddingRight: 36 }}
          >
            {shown}
          </Code>
          <div style={{ position: 'absolute', top: 6, right: 6 }}>
            <Copy value={shown} label="Copy the body" />
          </div>
        </div>
      )}
    </Stack>
  )
}

function formatBody(text: string): string {
  if (text.length > maxFormatted) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
