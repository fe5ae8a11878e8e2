import { Alert, Button, Paper, SegmentedControl, Stack, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { PlainText, RichText } from '../../components/rich-text.tsx'
import { messagesOf } from './repeat.ts'

type Content = Schemas['GenerationContent']

interface ContentViewProps {
  query: UseQueryResult<{ data: Content }, unknown>
  isWanted: boolean
  onShow: () => void
}

/** The prompt and the reply. They are loaded on demand, because every reading is in the audit log. */
export function ContentView({ query, isWanted, onShow }: ContentViewProps) {
  const [form, setForm] = useState('formatted')
  const isMissing = query.error instanceof ApiError && query.error.status === 404
  if (!isWanted) {
    return (
      <Panel title="Messages">
        <Text size="sm" pb="sm">
          The prompt and the reply, if they are stored. With them, you can run the request again. The audit
          log records who reads them.
        </Text>
        <Button size="xs" variant="default" onClick={onShow}>
          Show messages
        </Button>
      </Panel>
    )
  }
  return (
    <Panel title="Messages">
      {isMissing ? (
        <Text size="sm">
          The prompt and the reply were not stored. They are while content logging is on in the settings of
          the workspace.
        </Text>
      ) : (
        <QueryView query={query}>
          {({ data }) => (
            <Stack gap="sm">
              <SegmentedControl
                size="xs"
                aria-label="Form of the messages"
                style={{ alignSelf: 'flex-start' }}
                data={[
                  { value: 'formatted', label: 'Formatted' },
                  { value: 'text', label: 'Text' },
                  { value: 'json', label: 'JSON' },
                ]}
                value={form}
                onChange={setForm}
              />
              {data.truncated && (
                <Alert color="yellow">The content was too long to be stored completely.</Alert>
              )}
              {form === 'json' ? (
                <CodeBlock code={JSON.stringify(data, null, 2)} language="json" />
              ) : (
                <Texts content={data} isFormatted={form === 'formatted'} />
              )}
            </Stack>
          )}
        </QueryView>
      )}
    </Panel>
  )
}

interface TextsProps {
  content: Content
  isFormatted: boolean
}

function Texts({ content: { input, output, error }, isFormatted }: TextsProps) {
  const shown = [
    ...messagesOf(input),
    ...(output.reasoning ? [{ role: 'reasoning', text: output.reasoning }] : []),
    ...(output.completion !== null ? [{ role: 'reply', text: output.completion }] : []),
    ...output.tool_calls.map((call) => ({
      role: `tool call ${call.name}`,
      text: call.arguments,
      isCode: true,
    })),
    ...(error?.message ? [{ role: 'error', text: error.message }] : []),
  ]
  return shown.map(({ role, text, ...rest }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: messages have no id and never change
    <Paper key={index} withBorder p="xs">
      <Text size="xs" c="dimmed">
        {role}
      </Text>
      {!isFormatted ? (
        <PlainText text={text} />
      ) : 'isCode' in rest ? (
        <CodeBlock code={text} language="json" />
      ) : (
        <RichText text={text} />
      )}
    </Paper>
  ))
}
