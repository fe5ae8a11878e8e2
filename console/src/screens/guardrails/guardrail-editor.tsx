import { Button, Fieldset, Group, SegmentedControl, Stack, Switch, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Id } from '../../components/copy.tsx'
import { Panel } from '../../components/panel.tsx'
import { AccessFields, PrivacyRuleFields } from './access-fields.tsx'
import { BudgetFields } from './budget-fields.tsx'
import { BuiltinFilters } from './builtin-filters.tsx'
import { type DraftFields, formatFields, type Guardrail, parseFields } from './draft.ts'
import { ModerationFields } from './moderation-fields.tsx'
import { PatternFilters } from './pattern-filters.tsx'

const views = [
  { value: 'form', label: 'Form' },
  { value: 'json', label: 'JSON' },
]

interface GuardrailEditorProps {
  guardrail: Guardrail
  /** Null while the JSON is wrong. */
  fields: DraftFields | null
  isChanged: boolean
  mayChange: boolean
  onChange: (fields: DraftFields | null) => void
  onSave: () => void
}

/** Edits the rules as a form, or all of them as JSON. */
export function GuardrailEditor(props: GuardrailEditorProps) {
  const { guardrail, fields, isChanged, mayChange, onChange, onSave } = props
  const [view, setView] = useState('form')
  return (
    <Panel
      title="Rules"
      description={<Id value={guardrail.id} />}
      actions={
        <SegmentedControl
          aria-label="View of the rules"
          size="xs"
          data={views}
          value={view}
          // A form cannot show what is wrong in the JSON.
          disabled={fields === null}
          onChange={setView}
        />
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSave()
        }}
      >
        <Fieldset variant="unstyled" disabled={!mayChange} aria-label="Rules">
          <Stack>
            {view === 'form' && fields ? (
              <RuleFields fields={fields} onChange={(changes) => onChange({ ...fields, ...changes })} />
            ) : (
              <JsonField fields={fields} onChange={onChange} />
            )}
            {mayChange && (
              <Group>
                <Button type="submit" disabled={!isChanged || !fields?.name.trim()}>
                  Review and save
                </Button>
              </Group>
            )}
          </Stack>
        </Fieldset>
      </form>
    </Panel>
  )
}

interface RuleFieldsProps {
  fields: DraftFields
  onChange: (changes: Partial<DraftFields>) => void
}

function RuleFields({ fields, onChange }: RuleFieldsProps) {
  return (
    <>
      <TextInput
        label="Name"
        required
        maxLength={200}
        value={fields.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <TextInput
        label="Description"
        maxLength={1000}
        value={fields.description ?? ''}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
      />
      <AccessFields fields={fields} onChange={onChange} />
      <BudgetFields fields={fields} onChange={onChange} />
      <PrivacyRuleFields fields={fields} onChange={onChange} />
      <ModerationFields fields={fields} onChange={onChange} />
      <BuiltinFilters
        filters={fields.content_filter_builtins ?? []}
        onChange={(content_filter_builtins) => onChange({ content_filter_builtins })}
      />
      <PatternFilters
        filters={fields.content_filters ?? []}
        onChange={(content_filters) => onChange({ content_filters })}
      />
      <Switch
        label="Dry run"
        description="Violations are recorded, and nothing is redacted or rejected."
        checked={fields.dry_run}
        onChange={(event) => onChange({ dry_run: event.currentTarget.checked })}
      />
    </>
  )
}

interface JsonFieldProps {
  fields: DraftFields | null
  onChange: (fields: DraftFields | null) => void
}

/** The same object as text, with the names of the API. */
function JsonField({ fields, onChange }: JsonFieldProps) {
  const [text, setText] = useState(() => (fields ? formatFields(fields) : ''))
  const result = parseFields(text)
  return (
    <Textarea
      label="Guardrail as JSON"
      description="The body of PATCH /guardrails/{id}. Fields that you leave out are not set."
      autosize
      minRows={6}
      maxRows={30}
      spellCheck={false}
      error={'problem' in result ? result.problem : null}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        const parsed = parseFields(event.currentTarget.value)
        onChange('fields' in parsed ? parsed.fields : null)
      }}
    />
  )
}
