package secretsim

import (
	"context"
	"slices"
	"strconv"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// CreateSecret implements the service.
func (s *Sim) CreateSecret(_ context.Context, r *secretmanagerpb.CreateSecretRequest) (*secretmanagerpb.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may("secretmanager.secrets.create", r.GetParent()); err != nil {
		return nil, err
	}
	if r.GetSecret().GetReplication().GetAutomatic() == nil {
		return nil, status.Error(codes.InvalidArgument, "The replication field is required.")
	}
	if s.secrets[r.GetSecretId()] != nil {
		return nil, status.Errorf(
			codes.AlreadyExists, "Secret [%s/secrets/%s] already exists.", r.GetParent(), r.GetSecretId(),
		)
	}
	s.secrets[r.GetSecretId()] = &secret{}
	return &secretmanagerpb.Secret{Name: "projects/" + number + "/secrets/" + r.GetSecretId()}, nil
}

// AddSecretVersion implements the service.
func (s *Sim) AddSecretVersion(
	_ context.Context, r *secretmanagerpb.AddSecretVersionRequest,
) (*secretmanagerpb.SecretVersion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may("secretmanager.versions.add", r.GetParent()); err != nil {
		return nil, err
	}
	kept := s.secrets[named(r.GetParent())]
	if kept == nil {
		return nil, status.Errorf(codes.NotFound, "Secret [%s] not found.", r.GetParent())
	}
	if sum := r.GetPayload().DataCrc32C; sum != nil && *sum != checksum(r.GetPayload().GetData()) {
		return nil, status.Error(codes.InvalidArgument, "The checksum does not match the data.")
	}
	v := kept.add(r.GetPayload().GetData(), s.config.Now())
	return v.wire(named(r.GetParent())), nil
}

// ListSecretVersions implements the service.
func (s *Sim) ListSecretVersions(
	_ context.Context, r *secretmanagerpb.ListSecretVersionsRequest,
) (*secretmanagerpb.ListSecretVersionsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may("secretmanager.versions.list", r.GetParent()); err != nil {
		return nil, err
	}
	kept := s.secrets[named(r.GetParent())]
	if kept == nil {
		return nil, status.Errorf(codes.NotFound, "Secret [%s] not found.", r.GetParent())
	}
	from := len(kept.versions)
	if r.GetPageToken() != "" {
		var err error
		if from, err = strconv.Atoi(r.GetPageToken()); err != nil || from < 0 || from > len(kept.versions) {
			return nil, status.Error(codes.InvalidArgument, "The page token is not valid.")
		}
	}
	answer := &secretmanagerpb.ListSecretVersionsResponse{TotalSize: int32(len(kept.versions))}
	until := max(0, from-s.config.PageSize)
	for i := from - 1; i >= until; i-- {
		answer.Versions = append(answer.Versions, kept.versions[i].wire(named(r.GetParent())))
	}
	if until > 0 {
		answer.NextPageToken = strconv.Itoa(until)
	}
	return answer, nil
}

// AccessSecretVersion implements the service.
func (s *Sim) AccessSecretVersion(
	_ context.Context, r *secretmanagerpb.AccessSecretVersionRequest,
) (*secretmanagerpb.AccessSecretVersionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may("secretmanager.versions.access", r.GetName()); err != nil {
		return nil, err
	}
	v := s.find(r.GetName())
	if v == nil {
		return nil, status.Errorf(codes.NotFound, "Secret [%s] not found or has no versions.", r.GetName())
	}
	if v.state != secretmanagerpb.SecretVersion_ENABLED {
		return nil, status.Errorf(codes.FailedPrecondition, "Secret Version [%s] is in %s state.", r.GetName(), v.state)
	}
	data, sum := slices.Clone(v.data), checksum(v.data)
	if s.damaged && len(data) > 0 {
		data[0] ^= 1
	}
	return &secretmanagerpb.AccessSecretVersionResponse{
		Name: v.name(named(r.GetName())), Payload: &secretmanagerpb.SecretPayload{Data: data, DataCrc32C: &sum},
	}, nil
}

// DisableSecretVersion implements the service.
func (s *Sim) DisableSecretVersion(
	_ context.Context, r *secretmanagerpb.DisableSecretVersionRequest,
) (*secretmanagerpb.SecretVersion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may("secretmanager.versions.disable", r.GetName()); err != nil {
		return nil, err
	}
	v := s.find(r.GetName())
	switch {
	case v == nil:
		return nil, status.Errorf(codes.NotFound, "Secret Version [%s] not found.", r.GetName())
	case v.state == secretmanagerpb.SecretVersion_DESTROYED:
		return nil, status.Errorf(codes.FailedPrecondition, "Secret Version [%s] is in DESTROYED state.", r.GetName())
	}
	v.state = secretmanagerpb.SecretVersion_DISABLED
	return v.wire(named(r.GetName())), nil
}

// TestIamPermissions implements the service.
func (s *Sim) TestIamPermissions(
	_ context.Context, r *iampb.TestIamPermissionsRequest,
) (*iampb.TestIamPermissionsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &iampb.TestIamPermissionsResponse{}
	if s.secrets[named(r.GetResource())] == nil {
		return answer, nil
	}
	for _, permission := range r.GetPermissions() {
		if s.may(permission, r.GetResource()) == nil {
			answer.Permissions = append(answer.Permissions, permission)
		}
	}
	return answer, nil
}

func (v *version) wire(secret string) *secretmanagerpb.SecretVersion {
	return &secretmanagerpb.SecretVersion{Name: v.name(secret), CreateTime: timestamppb.New(v.created), State: v.state}
}
