import { ActionIcon, Badge, Button, Group, Paper, Stack, Text, Tooltip } from '@mantine/core'
import { ModelPicker } from '../../components/model-picker.tsx'
import { PlainText } from '../../components/rich-text.tsx'
import { AnswerView } from './answer-view.tsx'
import { QuoteView } from './quote-view.tsx'
import type { AnswerEntry, Entry, UserEntry } from './request.ts'
import { ToolCalls } from './tool-calls.tsx'
import { type Column, isRunning } from './use-columns.ts'
import type { QuoteState } from './use-quotes.ts'

interface ColumnViewProps {
  column: Column
  number: number
  quote: QuoteState | undefined
  isFormatted: boolean
  onModel: (model: string) => void
  onRemove: (() => void) | null
  onStop: () => void
  onRetry: () => void
  onContinue: () => void
  onResult: (entry: AnswerEntry, callId: string, result: string) => void
}

/** The conversation with one model. */
export function ColumnView(props: ColumnViewProps) {
  const { column, number, quote } = props
  const last = column.entries.at(-1)
  return (
    <Stack
      gap="sm"
      component="section"
      aria-label={`Conversation with ${column.model}`}
      style={{ minWidth: 0 }}
    >
      <Group gap={4} wrap="nowrap">
        <ModelPicker label={`Model ${number}`} value={column.model} onChange={props.onModel} />
        {props.onRemove && (
          <Tooltip label="Remove this model">
            <ActionIcon
              variant="subtle"
              color="gray"
              onClick={props.onRemove}
              aria-label={`Remove model ${number}`}
            >
              ✕
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
      <QuoteView state={quote} />
      {column.entries.map((entry) => (
        <EntryView key={entry.id} entry={entry} isLast={entry === last} {...props} />
      ))}
      <Group>
        {isRunning(column) && (
          <Button size="xs" variant="default" onClick={props.onStop}>
            Stop
          </Button>
        )}
        {last?.kind === 'answer' && !isRunning(column) && last.request && (
          <Button size="xs" variant="default" onClick={props.onRetry}>
            Regenerate
          </Button>
        )}
      </Group>
    </Stack>
  )
}

function EntryView({ entry, isLast, ...props }: ColumnViewProps & { entry: Entry; isLast: boolean }) {
  if (entry.kind === 'user') return <UserView entry={entry} />
  const isOpen = isLast && entry.answer.status !== 'streaming'
  return (
    <>
      <AnswerView entry={entry} isFormatted={props.isFormatted} />
      {entry.answer.toolCalls.length > 0 && (
        <ToolCalls
          entry={entry}
          isOpen={isOpen}
          onResult={(callId, result) => props.onResult(entry, callId, result)}
          onSend={props.onContinue}
        />
      )}
    </>
  )
}

function UserView({ entry: { text, attachments } }: { entry: UserEntry }) {
  return (
    <Paper p="sm" bg="var(--mantine-color-default-hover)">
      <Text size="xs" c="dimmed" fw={600}>
        You
      </Text>
      <PlainText text={text} />
      {attachments.map(({ id, name }) => (
        <Badge key={id} variant="default" tt="none" mt={4} mr={4}>
          {name}
        </Badge>
      ))}
    </Paper>
  )
}
