/** A run that cannot start or continue; the message is for the operator. */
export class RunError extends Error {}
