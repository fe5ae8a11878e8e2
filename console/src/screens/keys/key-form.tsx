import { Collapse, Fieldset, Group, SimpleGrid, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { mayDo, useSession } from '../../app/session.tsx'
import { DownIcon, UpIcon } from '../../components/icons.tsx'
import { KeyLimitFields } from '../../components/key-limit-fields.tsx'
import { ModelsInput, ProvidersInput } from '../../components/names-input.tsx'
import { MaxPrioritySelect, PrioritySelect } from '../../components/priority-select.tsx'
import { TagRulesFields } from '../../components/tag-rules-fields.tsx'
import { TierSelect } from '../../components/tier-select.tsx'
import type { KeyDraft } from './key-draft.ts'
import { RateFields } from './rate-fields.tsx'

interface KeyFormProps {
  draft: KeyDraft
  onChange: (changes: Partial<KeyDraft>) => void
  /** Shown instead of the models and providers that can be chosen. */
  allowed?: ReactNode
  isNew?: boolean
  /** Further fields among those that most keys do not need. */
  more?: ReactNode
}

/** The fields that new and stored keys have in common. */
export function KeyForm({ draft, onChange, allowed, isNew = false, more }: KeyFormProps) {
  const session = useSession()
  return (
    <>
      {allowed ??
        (mayDo(session, 'guardrails:write') && (
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <ModelsInput
              label="Allowed models"
              placeholder="All models"
              value={draft.models}
              onChange={(chosen) => onChange({ models: chosen })}
            />
            <ProvidersInput
              label="Allowed providers"
              placeholder="All providers"
              value={draft.providers}
              onChange={(chosen) => onChange({ providers: chosen })}
            />
          </SimpleGrid>
        ))}
      <Fieldset legend="Spending">
        <KeyLimitFields value={draft} onChange={onChange} />
      </Fieldset>
      {mayDo(session, 'budgets:write') && (
        <RateFields rates={draft.rates} onChange={(rates) => onChange({ rates })} />
      )}
      <More>
        {more}
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <TierSelect
            placeholder={isNew ? 'Default' : 'None'}
            value={draft.tier}
            onChange={(tier) => onChange({ tier })}
          />
          <PrioritySelect value={draft.priority} onChange={(priority) => onChange({ priority })} />
          <MaxPrioritySelect
            value={draft.maxPriority}
            onChange={(maxPriority) => onChange({ maxPriority })}
          />
        </SimpleGrid>
        <TagRulesFields value={draft.tags} onChange={(tags) => onChange({ tags })} />
      </More>
    </>
  )
}

/** Fields that are opened when they are needed. */
function More({ children }: { children: ReactNode }) {
  const [isOpen, { toggle }] = useDisclosure()
  return (
    <div>
      <UnstyledButton onClick={toggle} aria-expanded={isOpen} fz="sm" fw={600} py={4}>
        <Group gap={6}>More options {isOpen ? <UpIcon /> : <DownIcon />}</Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        {isOpen && (
          <Fieldset variant="unstyled" pt="xs" style={{ display: 'grid', gap: 'var(--mantine-spacing-md)' }}>
            {children}
          </Fieldset>
        )}
      </Collapse>
    </div>
  )
}
