import { Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { ComponentPropsWithRef } from 'react'

type ButtonLinkProps = ButtonProps & Omit<ComponentPropsWithRef<'a'>, keyof ButtonProps>

function LinkButton(props: ButtonLinkProps) {
  return <Button component="a" size="xs" variant="default" {...props} />
}

/** A link to another screen that stands among buttons. */
export const ButtonLink = createLink(LinkButton)
