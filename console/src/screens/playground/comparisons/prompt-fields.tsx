import { ActionIcon, Button, FileButton, Group, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { maxPrompts, maxTextLength } from './matrix.ts'
import { readPromptFile } from './prompt-file.ts'

interface PromptFieldProps {
  number: number
  value: string
  isReadOnly: boolean
  onChange: (prompt: string) => void
  onRemove: (() => void) | null
}

/** A prompt, where it is written. */
export function PromptField({ number, value, isReadOnly, onChange, onRemove }: PromptFieldProps) {
  return (
    <Group gap={4} wrap="nowrap" align="flex-start">
      <Textarea
        aria-label={`Prompt ${number}`}
        placeholder="What should the models answer?"
        autosize
        minRows={2}
        maxRows={8}
        maxLength={maxTextLength}
        readOnly={isReadOnly}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        style={{ flex: 1 }}
      />
      {onRemove && !isReadOnly && (
        <ActionIcon variant="subtle" color="gray" aria-label={`Remove prompt ${number}`} onClick={onRemove}>
          ✕
        </ActionIcon>
      )}
    </Group>
  )
}

interface PromptActionsProps {
  prompts: readonly string[]
  isDisabled: boolean
  onChange: (prompts: string[]) => void
}

/** Adds an empty prompt, or those of a file. */
export function PromptActions({ prompts, isDisabled, onChange }: PromptActionsProps) {
  const [note, setNote] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const load = async (file: File | null) => {
    if (!file) return
    setNote(null)
    setProblem(null)
    try {
      const loaded = await readPromptFile(file)
      setNote(loaded.note)
      onChange(loaded.prompts)
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'The file cannot be read.')
    }
  }
  return (
    <Group gap="xs">
      <Button
        size="xs"
        variant="default"
        disabled={isDisabled || prompts.length >= maxPrompts}
        onClick={() => onChange([...prompts, ''])}
      >
        Add prompt
      </Button>
      <FileButton
        accept=".csv,.json,.jsonl,.ndjson"
        onChange={(file) => void load(file)}
        inputProps={{ 'aria-label': 'File with prompts' }}
      >
        {(button) => (
          <Button size="xs" variant="default" disabled={isDisabled} {...button}>
            Load CSV or JSON Lines
          </Button>
        )}
      </FileButton>
      <Text size="xs" c="dimmed" role="status">
        {note ?? `${prompts.length} of ${maxPrompts} prompts`}
      </Text>
      {problem && (
        <Text size="xs" c="red" role="alert">
          {problem}
        </Text>
      )}
    </Group>
  )
}
