import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { useId, useState } from 'react'
import { RichText } from '../../components/rich-text.tsx'
import type { ApiDocument, Parameter, Schema } from './document.ts'
import { describeBounds, describeType, isStructured, listFields, listParts, resolveSchema } from './schema.ts'

/** Schemas can contain themselves. */
const maxDepth = 12

export function ParameterList({ document, parameters }: { document: ApiDocument; parameters: Parameter[] }) {
  return (
    <Stack gap="sm">
      {parameters.map(({ name, in: place, required = false, description, schema }) => (
        <FieldView
          key={`${place} ${name}`}
          document={document}
          name={name}
          note={place}
          isRequired={required}
          schema={{ ...schema, ...(description && { description }) }}
          depth={0}
        />
      ))}
    </Stack>
  )
}

interface SchemaViewProps {
  document: ApiDocument
  schema: Schema
  depth?: number
}

/** The fields of an object, or what a value can be. What is below a field is shown when it is opened. */
export function SchemaView({ document, schema, depth = 0 }: SchemaViewProps) {
  const fields = listFields(document, schema)
  const parts = listParts(document, schema)
  if (fields.length === 0 && parts.length === 0)
    return <Text size="sm">{describeType(document, schema)}</Text>
  return (
    <Stack gap="sm">
      {fields.map(({ field, declared, isRequired }) => (
        <FieldView
          key={field}
          document={document}
          name={field}
          schema={declared}
          isRequired={isRequired}
          depth={depth}
        />
      ))}
      {[...parts.entries()].map(([index, part]) => (
        <Part key={index} document={document} label={part.label} schema={part.schema} depth={depth} />
      ))}
    </Stack>
  )
}

interface FieldViewProps {
  document: ApiDocument
  name: string
  note?: string
  schema: Schema
  isRequired: boolean
  depth: number
}

function FieldView({ document, name, note, schema, isRequired, depth }: FieldViewProps) {
  const { schema: resolved } = resolveSchema(document, schema)
  const description = schema.description ?? resolved.description
  const facts = [note, isRequired ? 'required' : '', ...describeBounds(resolved)].filter(Boolean)
  return (
    <div>
      <Group gap="xs" align="baseline">
        <Code>{name}</Code>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {describeType(document, schema)}
        </Text>
        {facts.length > 0 && (
          <Text size="xs" c="dimmed">
            {facts.join(', ')}
          </Text>
        )}
      </Group>
      {description && <RichText text={description} />}
      {isStructured(document, schema) && (
        <Part document={document} label={`Fields of ${name}`} schema={schema} depth={depth} />
      )}
    </div>
  )
}

interface PartProps {
  document: ApiDocument
  label: string
  schema: Schema
  depth: number
}

/** Expands a part of a schema on request. */
function Part({ document, label, schema, depth }: PartProps) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  if (depth >= maxDepth) return null
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-xs"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? '−' : '+'} {label}
      </Button>
      <div
        id={id}
        hidden={!isOpen}
        style={{ borderLeft: '2px solid var(--mantine-color-default-border)', paddingLeft: 12 }}
      >
        {isOpen && <SchemaView document={document} schema={schema} depth={depth + 1} />}
      </div>
    </div>
  )
}
