import { Alert, Button, Paper, SegmentedControl, Stack, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { PlainText, RichText } from '../../components/rich-text.tsx'
import { formatCount } from '../../format/number.ts'
import { MediaView } from './media-view.tsx'
import { type ShownText, textsOf } from './texts.ts'

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
      <Panel
        title="Messages"
        description="The prompt and the reply, if they are stored. With them, you can run the request again. The audit log records who reads them."
        actions={
          <Button size="xs" variant="default" onClick={onShow}>
            Show messages
          </Button>
        }
      />
    )
  }
  return (
    <Panel title="Messages">
      {isMissing ? (
        <Text size="sm">
          The prompt and the reply were not stored. To store them, turn on content logging in the workspace
          settings.
        </Text>
      ) : (
        <QueryView query={query}>
          {({ data }) => (
            <Stack gap="sm">
              <SegmentedControl
                size="xs"
                aria-label="Message format"
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
                <JsonTree label="Prompt and reply" value={data} />
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

function Texts({ content, isFormatted }: TextsProps) {
  const [count, setCount] = useState(messageStep)
  const texts = textsOf(content)
  const hidden = Math.max(0, texts.length - count)
  return (
    <>
      {hidden > 0 && (
        <Button size="compact-sm" variant="default" onClick={() => setCount(count + messageStep)}>
          Show earlier messages ({formatCount(hidden)})
        </Button>
      )}
      {[...texts.entries()].slice(hidden).map(([index, text]) => (
        <Message key={index} message={text} isFormatted={isFormatted} />
      ))}
    </>
  )
}

/** The last messages that are shown at first, and how many more with each click. */
const messageStep = 50
/** Characters of a message that are shown at first. */
const maxLength = 20_000

function Message({ message, isFormatted }: { message: ShownText; isFormatted: boolean }) {
  const [isWhole, setWhole] = useState(false)
  const { role, isCode } = message
  const isCut = !isWhole && message.text.length > maxLength
  const text = isCut ? message.text.slice(0, maxLength) : message.text
  return (
    <Paper withBorder p="xs">
      <Text size="xs" c="dimmed">
        {role}
      </Text>
      {!isFormatted ? (
        <PlainText text={text} />
      ) : isCode ? (
        <CodeBlock code={text} language="json" />
      ) : (
        <RichText text={text} />
      )}
      {isFormatted && message.media && <MediaView media={message.media} />}
      {isCut && (
        <Button size="compact-sm" variant="default" mt="xs" onClick={() => setWhole(true)}>
          Show all {formatCount(message.text.length)} characters
        </Button>
      )}
    </Paper>
  )
}
