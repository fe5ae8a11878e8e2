import { Button, Code, Group, Paper, Stack, Text, Textarea } from '@mantine/core'
import type { AnswerEntry } from './request.ts'

interface ToolCallsProps {
  entry: AnswerEntry
  /** Whether the results can still be written. */
  isOpen: boolean
  onResult: (callId: string, result: string) => void
  onSend: () => void
}

/** The calls that a model asks for: the person plays the tool. */
export function ToolCalls({ entry: { answer, results }, isOpen, onResult, onSend }: ToolCallsProps) {
  return (
    <Stack gap="xs">
      {answer.toolCalls.map((call) => (
        <Paper key={call.id} withBorder p="sm">
          <Text size="xs" fw={600} style={{ overflowWrap: 'anywhere' }}>
            Calls {call.name}
          </Text>
          <Code block tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {formatJson(call.arguments)}
          </Code>
          <Textarea
            mt="xs"
            size="xs"
            label={`Result of ${call.name}`}
            placeholder="What the tool returns"
            autosize
            maxRows={8}
            readOnly={!isOpen}
            value={results[call.id] ?? ''}
            onChange={(event) => onResult(call.id, event.currentTarget.value)}
          />
        </Paper>
      ))}
      {isOpen && (
        <Group>
          <Button size="xs" onClick={onSend}>
            Send results
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
