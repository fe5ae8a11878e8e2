import { Button, Menu, Stack, Textarea } from '@mantine/core'

const examples = [
  { label: 'Long prompts of a team', when: 'tags.team == "search" && input_tokens > 20000' },
  { label: 'Requests for a model', when: 'model == "sandbox/echo" && !stream' },
  { label: 'Prompts with images', when: 'images > 0' },
  { label: 'Requests with tools', when: 'uses_tools' },
  { label: 'Prompts in German or French', when: 'language in ["de", "fr"]' },
  { label: 'Outside of business hours', when: 'time.getHours("Europe/Berlin") >= 18' },
  { label: 'Embeddings', when: 'operation == "embeddings"' },
]

interface ConditionFieldProps {
  value: string
  onChange: (text: string) => void
}

/** The condition of a rule, with examples to begin with. */
export function ConditionField({ value, onChange }: ConditionFieldProps) {
  return (
    <Stack gap={4}>
      <Textarea
        label="Condition"
        description="A CEL expression over model, operation, stream, tags, end_user, workspace, key, member, region, time, input_tokens, images, language, tools and uses_tools"
        placeholder={'tags.team == "search" && input_tokens > 20000'}
        required
        autosize
        minRows={2}
        maxRows={8}
        maxLength={2000}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Menu position="bottom-start">
        <Menu.Target>
          <Button size="compact-xs" variant="subtle" style={{ alignSelf: 'flex-start' }}>
            Insert an example
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {examples.map(({ label, when }) => (
            <Menu.Item key={label} onClick={() => onChange(when)}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </Stack>
  )
}
