import { Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { SecretOnce } from '../../components/secret-once.tsx'

export interface NewKey {
  name: string
  hash: string
  secret: string
  /** Why the guardrail was not assigned. */
  guardrailError: unknown
}

interface NewKeySecretProps {
  created: NewKey
  children?: ReactNode
  onClose: () => void
}

export function NewKeySecret({ created, children, onClose }: NewKeySecretProps) {
  const queryClient = useQueryClient()
  const close = () => {
    void queryClient.invalidateQueries({ queryKey: ['get', '/keys'] })
    onClose()
  }
  return (
    <SecretOnce title={`The secret of ${created.name}`} secret={created.secret} onClose={close}>
      {children}
      {created.guardrailError !== null && (
        <>
          <Text size="sm">
            The key was created, but its guardrail was not assigned. Nothing restricts it yet.
          </Text>
          <ErrorNotice error={created.guardrailError} />
        </>
      )}
    </SecretOnce>
  )
}
