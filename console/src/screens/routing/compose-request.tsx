import { JsonInput, Select, Text } from '@mantine/core'
import { useState } from 'react'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameField } from '../../components/text-field.tsx'
import { quoteFormats, readBody, readRequest, type SavedRequest } from './request-set.ts'

const example = {
  model: 'sandbox/echo',
  messages: [{ role: 'user', content: 'Hello' }],
  max_tokens: 200,
}

interface ComposeRequestProps {
  /** Null: a new one. */
  request: SavedRequest | null
  onSave: (request: SavedRequest) => void
  onClose: () => void
}

/** A request as its application would send it. */
export function ComposeRequest({ request, onSave, onClose }: ComposeRequestProps) {
  const [name, setName] = useState(request?.name ?? '')
  const [format, setFormat] = useState(request?.format ?? null)
  const [text, setText] = useState(JSON.stringify(request?.body ?? example, null, 2))
  const body = readBody(text)
  const problem = typeof body === 'string' ? body : null
  const save = async () => {
    const read = readRequest({ name, format, body })
    if (typeof read === 'string') throw new Error(read)
    onSave(request ? { ...read, id: request.id } : read)
  }
  return (
    <FormDialog
      title={request ? 'Edit the request' : 'Compose a request'}
      action="Save"
      size="lg"
      isReady={name.trim() !== '' && problem === null}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField description="To recognize it in the results" value={name} onChange={setName} />
      <Select
        label="Format"
        description="The format of the body. Choose messages for Anthropic's; otherwise it is read as chat."
        placeholder="Detected from the body"
        clearable
        data={[...quoteFormats]}
        value={format}
        onChange={setFormat}
      />
      <JsonInput
        label="Body, as JSON"
        autosize
        minRows={8}
        maxRows={20}
        error={problem}
        value={text}
        onChange={setText}
      />
      <Text size="xs" c="dimmed">
        Name a model, or a preset as @preset/name. Use messages of realistic length: it affects the price and
        which endpoints qualify.
      </Text>
    </FormDialog>
  )
}
