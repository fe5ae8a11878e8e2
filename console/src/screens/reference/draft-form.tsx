import { FileInput, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core'
import type { ApiDocument, Operation, Parameter } from './document.ts'
import { bodyShapeOf, type Draft, listFormFields, parameterKey } from './draft.ts'
import { describeType } from './schema.ts'

interface DraftFormProps {
  document: ApiDocument
  operation: Operation
  draft: Draft
  onChange: (draft: Draft) => void
}

/** Parameters and body of a request. */
export function DraftForm(props: DraftFormProps) {
  const parameters = props.operation.parameters ?? []
  const headers = parameters.filter(({ in: place }) => place === 'header')
  return (
    <Stack gap="sm">
      <ParameterInputs {...props} parameters={parameters.filter(({ in: place }) => place !== 'header')} />
      <BodyForm {...props} />
      {headers.length > 0 && (
        <details>
          <Text component="summary" size="sm" style={{ cursor: 'pointer' }}>
            Headers
          </Text>
          <ParameterInputs {...props} parameters={headers} />
        </details>
      )}
    </Stack>
  )
}

interface ParameterInputsProps extends DraftFormProps {
  parameters: Parameter[]
}

function ParameterInputs({ document, draft, onChange, parameters }: ParameterInputsProps) {
  if (parameters.length === 0) return null
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {parameters.map((parameter) => {
        const key = parameterKey(parameter)
        return (
          <TextInput
            key={key}
            label={parameter.name}
            description={`${parameter.in}, ${shorten(describeType(document, parameter.schema))}`}
            withAsterisk={parameter.required ?? false}
            value={draft.parameters[key] ?? ''}
            autoComplete="off"
            onChange={({ currentTarget: { value } }) =>
              onChange({ ...draft, parameters: { ...draft.parameters, [key]: value } })
            }
          />
        )
      })}
    </SimpleGrid>
  )
}

const maxTypeLength = 80

function shorten(text: string): string {
  return text.length > maxTypeLength ? `${text.slice(0, maxTypeLength)}…` : text
}

function BodyForm({ document, operation, draft, onChange }: DraftFormProps) {
  const { kind, type, schema } = bodyShapeOf(operation)
  if (kind === 'json') {
    return (
      <Textarea
        label="Body"
        description={type}
        value={draft.json}
        autosize
        minRows={3}
        maxRows={24}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        onChange={({ currentTarget: { value } }) => onChange({ ...draft, json: value })}
      />
    )
  }
  if (kind === 'file') {
    return (
      <FileInput
        label="Body"
        description={type}
        clearable
        clearButtonProps={{ 'aria-label': 'Remove the file' }}
        value={draft.file}
        onChange={(file) => onChange({ ...draft, file })}
      />
    )
  }
  if (kind === 'none') return null
  const setField = (name: string, value: string | File) =>
    onChange({ ...draft, fields: { ...draft.fields, [name]: value } })
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {listFormFields(document, schema).map(({ name, isRequired, isFile }) =>
        isFile ? (
          <FileInput
            key={name}
            label={name}
            withAsterisk={isRequired}
            onChange={(file) => setField(name, file ?? '')}
          />
        ) : (
          <TextInput
            key={name}
            label={name}
            withAsterisk={isRequired}
            autoComplete="off"
            onChange={({ currentTarget: { value } }) => setField(name, value)}
          />
        ),
      )}
    </SimpleGrid>
  )
}
